"""Files written whole or not at all, and files that grow line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from malaprop.core.errors import RecordError
from malaprop.core.partial_files import partial_path, remove_partial_files

Made = TypeVar("Made")


def write_whole(path: Path, text: str) -> Path:
    """The file with all of the text, or as it was before."""
    half = partial_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_partial_files(path.parent, path.name)
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
        except (ValueError, TypeError, KeyError, RecordError) as error:
            if number == len(lines) - 1:
                break
            raise RecordError(f"{path}, line {number + 1}: {str(error)[:100]}") from None
    return out
