"""Files that are being written carry their process in their name, so that what a killed one left can be cleared."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

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
