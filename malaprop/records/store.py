"""A run folder: run.toml and outcomes.jsonl, appended line by line; a kill at any moment loses nothing finished."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from malaprop.core.errors import RecordError
from malaprop.records.ids import Ids
from malaprop.records.outcome import Outcome, to_json
from malaprop.records.run import FILE as RUN_FILE
from malaprop.records.run import Run
from malaprop.records.schema import from_plain

if sys.platform != "win32":  # which has no such locks; there two writers are the user's own care
    import fcntl

FILE = "outcomes.jsonl"
LARGE = 64 << 20  # bytes of outcomes, some 50,000, from which on they are not held


def _scan(file: IO[bytes], path: Path) -> Iterator[tuple[Outcome, int]]:
    """Each whole outcome and the byte after its line; a torn last line ends the scan, a broken earlier one raises."""
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
                f"{path} line {number} is broken, yet lines follow it; mend or delete that line or choose another --out"
            ) from None
        try:
            outcome = from_plain(plain)
        except RecordError as error:
            raise RecordError(f"{path} line {number}: {error}") from None
        end += len(line)
        yield outcome, end


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror or error}; give a folder that a run wrote") from None


def iter_outcomes(folder: str | os.PathLike[str]) -> Iterator[Outcome]:
    """The outcomes of a run folder in the order written, the first of each id."""
    path = Path(folder) / FILE
    seen = Ids()
    with _open(path) as file:
        for outcome, _ in _scan(file, path):
            if seen.add(outcome.id):
                yield outcome


def read_outcomes(folder: str | os.PathLike[str]) -> list[Outcome]:
    """All outcomes of a run folder."""
    return list(iter_outcomes(folder))


class Stored(Sequence[Outcome]):
    """The outcomes of a run folder, read again each time they are gone through; none is held."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = -1

    def __iter__(self) -> Iterator[Outcome]:
        return iter_outcomes(self.folder)

    def __len__(self) -> int:
        if self._count < 0:
            self._count = sum(1 for _ in self)
        return self._count

    def __getitem__(self, place: Any) -> Any:
        """One outcome or a slice of them; reads up to there, or all where it counts from the end."""
        if isinstance(place, slice):
            return list(self)[place]
        for outcome in islice(self, place if place >= 0 else len(self) + place, None):
            return outcome
        raise IndexError(f"outcome {place} of {len(self)}")


def outcomes_of(folder: Path) -> Sequence[Outcome]:
    """All outcomes of a run folder: in memory, or read as they are wanted where there are very many."""
    path = folder / FILE
    large = path.is_file() and path.stat().st_size > LARGE
    return Stored(folder) if large else read_outcomes(folder)


def merge(folders: Iterable[str | os.PathLike[str]]) -> list[Outcome]:
    """The outcomes of several shards of one work, the first of each id; shards of different work are refused."""
    found: dict[str, Outcome] = {}
    first: tuple[Path, Run] | None = None
    for folder in map(Path, folders):
        run = Run.read(folder)
        if first is None:
            first = folder, run
        elif (difference := first[1].same_work(run)) is not None:
            raise RecordError(f"{first[0]} and {folder} are not shards of one run: {difference}")
        for outcome in iter_outcomes(folder):
            found.setdefault(outcome.id, outcome)
    return list(found.values())


def find_runs(folders: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Every run folder at or below the given ones, sorted within each, each once."""
    found: dict[Path, None] = {}
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise RecordError(f"no such folder: {folder}; give a folder that a run wrote, or one above it")
        below = sorted(path.parent for path in folder.rglob(RUN_FILE) if (path.parent / FILE).is_file())
        found.update(dict.fromkeys(below))
    return list(found)


def check_writable(folder: Path) -> None:
    """Raises where a run could not write, before any work is done; makes nothing."""
    place = Path(folder).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise RecordError(f"cannot write to {folder}: {place} is no folder; choose another --out")
    if not os.access(place, os.W_OK | os.X_OK):
        raise RecordError(f"cannot write to {folder}: {place} is read-only for this user; choose another --out")


class Writer:
    """Appends outcomes to a run folder, inside `with`; a second writer is refused. `done` holds the ids on disk.

    `fsync` waits for the disk after each outcome: safe against a power cut too, at some milliseconds an outcome.
    """

    def __init__(self, folder: Path, run: Run, resume: bool = False, fsync: bool = False) -> None:
        self.folder = Path(folder)
        self.run = run
        self.resume = resume
        self.fsync = fsync
        self.done = Ids()
        self._fd = -1
        self._end = 0

    @property
    def path(self) -> Path:
        return self.folder / FILE

    def __enter__(self) -> Writer:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise RecordError(
                f"cannot write to {self.folder}: {error.strerror or error}; choose another --out"
            ) from None
        try:
            self._lock()
            self._take_up()
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
            os.close(self._fd)  # gives the lock back too
            self._fd = -1

    def _lock(self) -> None:
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecordError(
                f"another process is writing to {self.folder}; wait for it, or choose another --out"
            ) from None
        except OSError:
            return  # a file system without locks

    def _take_up(self) -> None:
        with _open(self.path) as file:
            for outcome, end in _scan(file, self.path):
                self.done.add(outcome.id)
                self._end = end
        if len(self.done):
            self._check_resume()
        else:
            self.run.write(self.folder)
        if os.fstat(self._fd).st_size > self._end:
            os.ftruncate(self._fd, self._end)

    def _check_resume(self) -> None:
        if not self.resume:
            raise RecordError(
                f"{self.folder} already holds {len(self.done)} outcomes; "
                "pass --resume to continue or choose another --out"
            )
        if (difference := self.run.same_work(Run.read(self.folder))) is not None:
            raise RecordError(
                f"cannot resume {self.folder}: {difference}; use the same settings or choose another --out"
            )

    def add(self, outcome: Outcome) -> None:
        """Writes one line; when it returns, a kill of this process cannot lose the outcome."""
        if self._fd < 0:
            raise RecordError(f"the writer of {self.folder} is closed; use it inside `with`")
        if outcome.id in self.done:
            raise RecordError(f"{self.folder} already holds an outcome of example {outcome.id!r}; ids must differ")
        line = (to_json(outcome) + "\n").encode()
        try:
            self._append(line)
        except OSError as error:
            with contextlib.suppress(OSError):  # what cannot be cut now is dropped as a torn line later
                os.ftruncate(self._fd, self._end)
            raise RecordError(
                f"cannot write to {self.path}: {error.strerror or error}; {len(self.done)} outcomes are safe, "
                "make room and pass --resume"
            ) from None
        self._end += len(line)
        self.done.add(outcome.id)

    def _append(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        if self.fsync:
            os.fsync(self._fd)
