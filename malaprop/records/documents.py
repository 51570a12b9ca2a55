"""Records that are one JSON file in a folder: written whole or not at all, and read with one line on what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from malaprop.core.errors import RecordError
from malaprop.core.leftovers import clear_leftovers, half_of

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A kind of record: its file, what it is a record of, and what to do where it cannot be read."""

    file: str
    about: str
    again: str
    form: int = 1

    def write(self, folder: Path, values: Mapping[str, Any], *, indent: int | None = 1) -> Path:
        text = json.dumps({"format": self.form, **values}, ensure_ascii=False, indent=indent)
        return write_whole(folder / self.file, text + "\n")

    def read(self, folder: Path, make: Callable[[dict[str, Any]], Made]) -> Made | None:
        """What `make` makes of the values, None where the folder holds no such file."""
        path = folder / self.file
        if not path.is_file():
            return None
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw.pop("format") != self.form:
                raise ValueError("another format")
            return make(raw)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise RecordError(f"{path} is no record of {self.about} ({reason[:100]}); {self.again}") from None


def write_whole(path: Path, text: str) -> Path:
    """The file with all of the text, or as it was before."""
    half = half_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(path.parent, path.name)
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        if half.parent.is_dir():
            half.unlink(missing_ok=True)
        raise RecordError(f"cannot write {path}: {error.strerror or error}; choose another --out") from None
    return path


def read_lines(path: Path, make: Callable[[Any], Made]) -> list[Made]:
    """What `make` makes of each line of a file that grows; a torn last line is left out, a missing file is empty."""
    if not path.is_file():
        return []
    out: list[Made] = []
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines):
        try:
            if line:
                out.append(make(json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            if number == len(lines) - 1:
                break
            raise RecordError(f"{path}, line {number + 1}: {str(error)[:100]}") from None
    return out
