"""The texts that pre-train an encoder, and the held-out texts that evaluate it."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import DataError, SettingError
from malaprop.training.splits import Read

WIKITEXT = "wikitext"
_PLAIN = (".txt", ".txt.gz", ".raw", ".raw.gz")
_JOINTS = (("@-@", "-"), ("@,@", ","), ("@.@", "."))  # WikiText sets the inner marks of a word apart

Blocks = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Training and held-out texts, without line breaks; no text is on both sides."""

    name: str
    train: Sequence[str]
    held_out: Sequence[str]
    fingerprint: str

    @classmethod
    def of(cls, texts: Iterable[str], *, name: str) -> Corpus:
        """Hold out a tenth of the distinct texts up to 200, of many one in fifty, whatever their order."""
        kept = [line for text in texts if (line := " ".join(text.split()))]
        marks = {text: _mark(text) for text in dict.fromkeys(kept)}
        if len(marks) < 2:
            found = "no text" if not marks else "only one text"
            raise DataError(f"{name} holds {found}; pre-training needs many lines or rows, some of them to hold out")
        share = max(1, min(len(marks) // 10, 200), len(marks) // 50)
        out = set(sorted(marks, key=marks.__getitem__)[:share])
        digest = sha256()
        for text in kept:
            digest.update(marks[text])
        return cls(
            name=name,
            train=[text for text in kept if text not in out],
            held_out=[text for text in marks if text in out],
            fingerprint=digest.hexdigest()[:16],
        )


def _mark(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def corpus(spec: str, read: Read) -> Corpus:
    """Read texts of datasets (training splits alone), `wikitext` and plain text files, joined with commas."""
    parts = [part.strip() for part in spec.split(",")]
    if not all(parts):
        raise SettingError(f"--data takes names and files joined with commas, got {spec!r}")
    texts = [text for part in parts for text in _texts(part, read)]
    return Corpus.of(texts, name="+".join(Path(part).name if _is_plain(part) else part for part in parts))


def _is_plain(part: str) -> bool:
    return part.lower().endswith(_PLAIN)


def _texts(part: str, read: Read) -> list[str]:
    if part.lower() == WIKITEXT:
        return _wikitext()
    if _is_plain(part):
        return _lines(Path(part).expanduser())
    return [value for example in read(part, split="train").examples for value in example.fields.values()]


def _wikitext() -> list[str]:
    """Return WikiText's training articles without their headings."""
    from malaprop.assets import store

    folder = store.locate("wikitext")
    found = sorted(folder.glob("*train*"))
    if not found:
        raise DataError(f"{folder} holds no training file; run: malaprop fetch wikitext")
    kept = []
    for line in _lines(found[0]):
        text = line.strip()
        if not (text.startswith("=") and text.endswith("=")):
            for joint, mark in _JOINTS:
                text = text.replace(f" {joint} ", mark)
            kept.append(text)
    return kept


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        if path.suffix.lower() == ".gz":
            data = gzip.decompress(data)
        return data.decode("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise DataError(f"no such file: {path}; --data takes a dataset, {WIKITEXT} or a text file") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}); convert it first") from None
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def blocks(stream: NDArray[np.int32], length: int, *, name: str, least: int = 8) -> Blocks:
    """Cut a stream of tokens into rows of one length and drop the rest; a short stream is one row."""
    if len(stream) < least:
        raise DataError(f"{name} comes to {len(stream)} tokens; pre-training needs {least} at the very least")
    width = min(length, len(stream))
    rows = len(stream) // width
    return stream[: rows * width].reshape(rows, width)
