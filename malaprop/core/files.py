"""Files written whole or not at all, and the removal of what killed processes left half written."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from malaprop.core.errors import RecordError

_HALF = re.compile(r"\.(?P<name>.+?)\.(?P<pid>\d+)(@(?P<machine>.*))?")


def partial_path(path: Path) -> Path:
    """Where this process writes a file or folder before it takes its place in one step."""
    return path.with_name(f".{path.name}.{os.getpid()}@{platform.node()}")


def is_alive(pid: int) -> bool:
    """Whether this machine has such a process; where that cannot be told, it has."""
    if sys.platform == "win32":  # where asking would end it
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def find_partial_files(folder: Path, *names: str) -> Iterator[Path]:
    """What dead processes of this machine had half written in a folder.

    Other machines may write to the same disk: what they began is left to them. Of the files called `names` also those
    halves are found that earlier versions wrote, which name a process and no machine.
    """
    try:
        found = list(folder.iterdir())
    except OSError:
        return
    for path in found:
        half = _HALF.fullmatch(path.name)
        if half is None:
            continue
        ours = half["name"] in names if half["machine"] is None else half["machine"] == platform.node()
        if ours and not is_alive(int(half["pid"])):
            yield path


def remove_partial_files(folder: Path, *names: str) -> None:
    """Removes them."""
    for path in find_partial_files(folder, *names):
        with suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


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
