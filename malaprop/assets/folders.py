"""The cache folder: where it is, folders that appear whole or not at all, and locks between processes."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from malaprop.core.errors import AssetError
from malaprop.core.files import is_alive

_FULL = {errno.ENOSPC, errno.EDQUOT}
_DAY = 86_400.0


def cache_root() -> Path:
    """Return the cache folder: `$MALAPROP_CACHE`, else `$XDG_CACHE_HOME/malaprop`, else `~/.cache/malaprop`."""
    if own := os.environ.get("MALAPROP_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared).expanduser() if shared else Path.home() / ".cache") / "malaprop"


def data_root() -> Path | None:
    """Return the folder of local copies, `$MALAPROP_DATA`; None where it is not set."""
    own = os.environ.get("MALAPROP_DATA")
    if own and not Path(own).expanduser().is_dir():
        raise AssetError(f"MALAPROP_DATA is set to {own}, which is not a folder; correct or unset it")
    return Path(own).expanduser() if own else None


def offline() -> bool:
    """Whether `$MALAPROP_OFFLINE` forbids fetching."""
    return os.environ.get("MALAPROP_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Raise a one-line error where the block fails on a full disk or an unwritable cache."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            reason, cure = "no room left on the disk", "free some, or set MALAPROP_CACHE to a folder on another disk"
        else:
            reason, cure = f"{error.strerror or error}", "set MALAPROP_CACHE to a folder that can be written"
        raise AssetError(f"cannot store {what} in {cache_root()}: {reason}; {cure}") from None


def sweep(room: Path) -> None:
    """Remove temporary folders of processes that were killed, and any that are older than a day."""
    for left in room.iterdir():
        host, _, rest = left.name.partition("+")
        pid = rest.partition("+")[0]
        with suppress(OSError):
            gone = not is_alive(int(pid)) if host == socket.gethostname() and pid.isdigit() else False
            if gone or time.time() - left.stat().st_mtime > _DAY:
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield an empty folder inside the cache, so on its disk, and remove it afterwards."""
    room = cache_root() / "tmp"
    room.mkdir(parents=True, exist_ok=True)
    sweep(room)
    path = Path(tempfile.mkdtemp(prefix=f"{socket.gethostname()}+{os.getpid()}+", dir=room))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """Yield a folder to fill; it becomes `target` in one step at the end of the block, never if the block fails."""
    with scratch() as room:
        fresh = room / "made"
        fresh.mkdir()
        yield fresh
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            target.rename(room / "old")
        fresh.rename(target)


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock of that name against other processes and threads that use the same cache."""
    path = cache_root() / "locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            import fcntl
        except ImportError:  # a system without it: two processes may do the same work, and the later rename wins
            yield
            return
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
