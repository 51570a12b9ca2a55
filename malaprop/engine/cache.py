"""Caches of answers in memory and on disk. A key is never a text alone: it holds the example, or the victim."""

from __future__ import annotations

import sqlite3
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from malaprop.core.errors import RecordError
from malaprop.core.score import Floats
from malaprop.core.victim import Fields, Piece

Predict = Callable[[Sequence[Fields]], Floats]
Pieces = Callable[[Sequence[Fields]], Iterable[Piece]]


LARGEST = 256 << 20  # bytes of one memory; a larger one drops its older half
_ENTRY = 110  # bytes of a dictionary's entry from one large integer to another


class Memory:
    """A cache of score rows: a dictionary from key to row number, and the rows in one growing array."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.values: Floats = np.empty((0, 0), np.float32)
        self.used = 0  # rows of the array that hold an answer

    def __len__(self) -> int:
        return self.used

    @property
    def nbytes(self) -> int:
        """The approximate size in bytes."""
        return _ENTRY * len(self.rows) + self.values.nbytes

    def extend(self, keys: Sequence[int], fresh: Floats) -> int:
        """Add rows under new keys; return the number of the first."""
        first, end = self.used, self.used + len(keys)
        if end > len(self.values):
            grown = np.empty((max(2 * end, 4096), fresh.shape[1]), np.float32)
            if first:
                grown[:first] = self.values[:first]
            self.values = grown
        self.values[first:end] = fresh
        self.rows.update(zip(keys, range(first, end), strict=True))
        self.used = end
        return first

    def newer_half(self) -> Memory:
        """Return a new memory with the half that was added last."""
        out = Memory()
        kept = list(self.rows.items())[len(self.rows) // 2 :]
        if kept:
            out.extend([k for k, _ in kept], self.values[[row for _, row in kept]])
        return out


class Recent:
    """A cache of the most recently used answers, bounded by their number and their bytes."""

    def __init__(self, limit: int, most: int = LARGEST) -> None:
        self.limit, self.most = limit, most
        self.nbytes = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, key: Hashable) -> Any | None:
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: Any) -> None:
        self.nbytes -= self._kept.pop(key, (None, 0))[1]
        size = _ENTRY + weight(key) + weight(value)
        self._kept[key] = (value, size)
        self.nbytes += size
        while len(self._kept) > self.limit or (self.nbytes > self.most and self._kept):
            self.nbytes -= self._kept.popitem(last=False)[1][1]


def weight(value: Any) -> int:
    """Estimate the bytes of an answer or a key; shared parts are counted for each holder."""
    if isinstance(value, (list, tuple)):
        return sys.getsizeof(value) + sum(map(weight, value))
    return max(int(getattr(value, "nbytes", 0)), sys.getsizeof(value))  # a view's own size leaves out what it shows


class Disk:
    """A cache of scores on disk, for victims whose every answer costs money or minutes.

    One SQLite file; the key holds the victim's fingerprint, so a changed victim never gets old answers.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        if not fingerprint:
            raise RecordError(
                "a disk cache needs a victim with a fingerprint; name it with mp.victim(..., fingerprint=...)"
            )
        self.salt, self.path = fingerprint.encode(), path
        with self._said("opened"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.base = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self.base.execute("PRAGMA journal_mode=WAL")
            self.base.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing that is committed
            self.base.execute(
                "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID"
            )

    @contextmanager
    def _said(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise RecordError(f"the cache {self.path} cannot be {what}: {error}; repair or remove it") from None

    def _key(self, fields: Fields) -> bytes:
        whole = "".join(f"{len(value)}:{value}" for value in fields).encode("utf-8", "surrogatepass")
        return blake2b(self.salt + b"\x1f" + whole, digest_size=16).digest()

    def wrap(self, pieces: Pieces) -> Predict:
        """Return a function that reads scores from disk, calls `pieces` for the others and writes each as it comes."""

        def cached(texts: Sequence[Fields]) -> Floats:
            keys = [self._key(fields) for fields in texts]
            with self._said("read"):
                known = {key: row for key in keys if (row := self._get(key)) is not None}
            fresh = {key: fields for key, fields in zip(keys, texts, strict=True) if key not in known}
            if fresh:
                wanted = list(fresh)
                for places, scores in pieces(list(fresh.values())):
                    answered = [wanted[place] for place in places]
                    known.update(zip(answered, np.asarray(scores, np.float32), strict=True))
                    self._put(answered, known)
            return np.stack([known[key] for key in keys])

        return cached

    def _get(self, key: bytes) -> Floats | None:
        found = self.base.execute("SELECT row FROM scores WHERE key = ?", (key,)).fetchone()
        return None if found is None else np.frombuffer(found[0], "<f4")

    def _put(self, keys: Sequence[bytes], known: Mapping[bytes, Floats]) -> None:
        rows = [(key, known[key].astype("<f4").tobytes()) for key in keys]
        with self._said("written"), self.base:
            self.base.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)

    def close(self) -> None:
        self.base.close()
