"""A JSON-lines file that one process appends to; a kill at any moment loses no line that was written."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

from malaprop.core.errors import RecordError

if sys.platform != "win32":  # Windows has no such locks, so there the user must avoid a second writer
    import fcntl

Value = TypeVar("Value")
_FAULTS = (RecordError, ValueError, KeyError, TypeError, AttributeError)


def open_lines(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror or error}; give a folder that a run wrote") from None


def scan(file: IO[bytes], path: Path, make: Callable[[object], Value]) -> Iterator[tuple[Value, int]]:
    """Yield the value that `make` builds from each whole line, and the offset after it; a torn last line ends it.

    A broken line that others follow raises, as does one that `make` refuses.
    """
    end = 0
    for number, line in enumerate(file, start=1):
        if not line.endswith(b"\n"):
            return
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError):
            if not file.read(1):
                return
            raise RecordError(
                f"{path} line {number} is broken, yet lines follow it; repair or delete it, or choose another --out"
            ) from None
        try:
            value = make(plain)
        except _FAULTS as error:
            raise RecordError(f"{path} line {number}: {' '.join(str(error).split())[:200]}") from None
        end += len(line)
        yield value, end


class Lines:
    """Appends to a file, inside `with`; a second writer raises. Call `read`, then `cut`, then `append`.

    `fsync` waits for the disk after each line: safe against a power cut too, at some milliseconds a line.
    """

    def __init__(self, path: Path, *, what: str = "lines", fsync: bool = False) -> None:
        self.path = path
        self.what = what
        self.fsync = fsync
        self.many = 0
        self._fd = -1
        self._end = 0

    def __enter__(self) -> Lines:
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise RecordError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from None
        try:
            self._lock()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)  # this releases the lock too
            self._fd = -1

    def _lock(self) -> None:
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecordError(
                f"another process is writing to {self.path.parent}; wait for it, or choose another --out"
            ) from None
        except OSError:
            return  # the file system has no locks

    def read(self, make: Callable[[object], Value]) -> Iterator[Value]:
        """Yield the value that `make` builds from each whole line."""
        with open_lines(self.path) as file:
            for value, end in scan(file, self.path, make):
                self._end = end
                self.many += 1
                yield value

    def cut(self) -> None:
        """Remove the torn line that a kill may have left after the lines that `read` returned."""
        if os.fstat(self._fd).st_size > self._end:
            os.ftruncate(self._fd, self._end)

    def append(self, text: str) -> None:
        """Write one line; when it returns, a kill of this process cannot lose it."""
        if self._fd < 0:
            raise RecordError(f"the writer of {self.path.parent} is closed; use it inside `with`")
        line = (text + "\n").encode()
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            if self.fsync:
                os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):  # if this fails, the next start drops the rest as a torn line
                os.ftruncate(self._fd, self._end)
            raise RecordError(
                f"cannot write to {self.path}: {error.strerror or error}; {self.many} {self.what} are safe, make room "
                "and give the same command again"
            ) from None
        self._end += len(line)
        self.many += 1
