"""Finished shards of a mining on disk, so that a killed one goes on where it was."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from malaprop.core.errors import RecordError
from malaprop.core.leftovers import clear_leftovers, half_of
from malaprop.rules.mine import Gathered
from malaprop.rules.tally import Sums

_FOLDER = "shards"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Holds shards that were mined with the same `mark`: victims, method and data. Arrays and JSON alone."""

    folder: Path
    mark: str

    @classmethod
    def at(cls, out: Path, mark: str) -> Shelf:
        """A shelf that holds what another mining left is refused."""
        shelf = cls(out / _FOLDER, mark)
        note = shelf.folder / "mark"
        try:
            if note.is_file() and note.read_text(encoding="utf-8") != mark and any(shelf.folder.glob("*.npz")):
                raise RecordError(
                    f"{out} holds a mining of other victims, texts or another method that was not finished; repeat its "
                    f"settings, delete {shelf.folder}, or choose another --out"
                )
            shelf.folder.mkdir(parents=True, exist_ok=True)
            note.write_text(mark, encoding="utf-8")
            clear_leftovers(shelf.folder)
        except OSError as error:
            raise RecordError(f"cannot write {out}: {error.strerror or error}; choose another place") from None
        return shelf

    def get(self, number: int) -> Gathered | None:
        """None where the shard is not there, or not whole."""
        try:
            with np.load(self._path(number), allow_pickle=False) as held:
                rest: dict[str, Any] = json.loads(held["rest"].tobytes())
                sums = Sums(*(held[name] for name in Sums._fields))
            return Gathered(sums=sums, **{**rest, "strings": tuple(rest["strings"])})
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None

    def put(self, number: int, part: Gathered) -> None:
        rest = {n: getattr(part, n) for n in ("strings", "texts", "swaps", "faults", "finding", "asking", "processor")}
        path = self._path(number)
        half = half_of(path)
        packed = np.frombuffer(json.dumps(rest).encode(), np.uint8)
        try:
            with half.open("wb") as file:
                np.savez(file, rest=packed, **part.sums._asdict())
            half.replace(path)
        except OSError as error:
            half.unlink(missing_ok=True)
            raise RecordError(f"cannot write {path}: {error.strerror or error}") from None

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npz"
