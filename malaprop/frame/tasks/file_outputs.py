"""Outputs of a task that are one file: arrays in NAME.npz, or a text for people."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.frame.tasks.outputs import NOTHING, Add


@dataclass(frozen=True, slots=True)
class NpzFile:
    """Named arrays in NAME.npz, written atomically. The piece maps names to arrays; the value is the file's path."""

    def file(self, folder: Path) -> Path:
        return folder.with_name(f"{folder.name}.npz")

    def done(self, folder: Path) -> bool:
        return zipfile.is_zipfile(self.file(folder))

    def there(self, folder: Path) -> bool:
        return self.done(folder)

    def before(self, folder: Path) -> Collection[str]:
        del folder
        return NOTHING

    def value(self, folder: Path) -> Path:
        return self.file(folder)

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        yield lambda piece: self._write(self.file(folder), piece)

    def _write(self, path: Path, arrays: Mapping[str, Any]) -> None:
        import numpy as np

        from malaprop.core.files import partial_path, remove_partial_files

        half = partial_path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_partial_files(path.parent)
            with half.open("wb") as file:
                np.savez_compressed(file, **arrays)
            half.replace(path)
        except OSError as error:
            half.unlink(missing_ok=True)
            raise RecordError(f"cannot write {path}: {error.strerror or error}; choose another --out") from None

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        raise RecordError(f"{folder.name}: {why}, at {item.id!r}")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text in NAME.SUFFIX, written atomically at each run of the study; the value is the file's path."""

    suffix: str

    def file(self, folder: Path) -> Path:
        return folder.with_name(f"{folder.name}.{self.suffix}")

    def done(self, folder: Path) -> bool:
        del folder
        return False

    def there(self, folder: Path) -> bool:
        return self.file(folder).is_file()

    def before(self, folder: Path) -> Collection[str]:
        del folder
        return NOTHING

    def value(self, folder: Path) -> Path:
        return self.file(folder)

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        from malaprop.core.files import write_whole

        def add(piece: Any) -> None:
            write_whole(self.file(folder), piece)

        yield add

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        raise RecordError(f"{folder.name}: {why}, at {item.id!r}")
