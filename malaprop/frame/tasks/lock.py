"""Lock: a folder that a study writes to has one driver; a second one is refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from malaprop.core.errors import RecordError

if sys.platform != "win32":  # which has no such locks; there two drivers are the user's own care
    import fcntl

FILE = ".lock"


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Held inside `with`, and given back by the system when the process is killed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RecordError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from None
    try:
        if sys.platform != "win32":
            _take(held, folder)
        yield
    finally:
        os.close(held)


def _take(held: int, folder: Path) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RecordError(f"another process is at work in {folder}; wait for it, or choose another --out") from None
    except OSError:
        return  # a file system without locks
