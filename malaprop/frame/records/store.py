"""A run folder: run.toml and outcomes.jsonl, appended line by line; a kill at any moment loses nothing finished."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from malaprop.core.errors import RecordError
from malaprop.core.files import remove_partial_files
from malaprop.core.ids import Ids
from malaprop.frame.records.lines import Lines, open_lines, scan
from malaprop.frame.records.outcome import Outcome, Status, from_plain, to_json
from malaprop.frame.records.run import FILE as RUN_FILE
from malaprop.frame.records.run import Run

Fields = dict[str, str]
IMAGE = "image"  # the field of an image: a data URL with its PNG


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """An original and its adversarial version; `changed` is None where the attack did not succeed."""

    id: str
    label: str  # the name of the label, or its number
    original: Fields
    changed: Fields | None
    last: int = 0  # the largest label that the victim knows, by number


class AlterationReader(NamedTuple):
    """How to read a run folder that holds `file`: `read` returns the alterations of each recipe."""

    file: str
    kind: str  # outcomes, sentences or images
    read: Callable[[Path, Run], dict[str, list[Alteration]]]


FILE = "outcomes.jsonl"
LARGE = 64 << 20  # bytes of outcomes, some 50,000, above which they are read on each access


def iter_outcomes(folder: str | os.PathLike[str]) -> Iterator[Outcome]:
    """Yield the outcomes of a run folder in the order written; of several with one id, the first."""
    path = Path(folder) / FILE
    seen = Ids()
    with open_lines(path) as file:
        for outcome, _ in scan(file, path, from_plain):
            if seen.add(outcome.id):
                yield outcome


def read_outcomes(folder: str | os.PathLike[str]) -> list[Outcome]:
    """Return all outcomes of a run folder as a list."""
    return list(iter_outcomes(folder))


class Stored(Sequence[Outcome]):
    """The outcomes of a run folder as a sequence that reads the file on each access and keeps none in memory."""

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
        """Return one outcome or a slice; an index reads the file up to it, a negative one reads it all."""
        if isinstance(place, slice):
            return list(self)[place]
        for outcome in islice(self, place if place >= 0 else len(self) + place, None):
            return outcome
        raise IndexError(f"outcome {place} of {len(self)}")


def outcomes_of(folder: Path) -> Sequence[Outcome]:
    """Return all outcomes of a run folder: a list, or a `Stored` sequence if the file exceeds LARGE."""
    path = folder / FILE
    large = path.is_file() and path.stat().st_size > LARGE
    return Stored(folder) if large else read_outcomes(folder)


def merge(folders: Iterable[str | os.PathLike[str]]) -> list[Outcome]:
    """Return the outcomes of several shards of one run, the first of each id; raise if the runs differ."""
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
    """Return every run folder at or below the given ones, sorted within each, each once."""
    found: dict[Path, None] = {}
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise RecordError(f"no such folder: {folder}; give a folder that a run wrote, or one above it")
        below = sorted(path.parent for path in folder.rglob(RUN_FILE) if (path.parent / FILE).is_file())
        found.update(dict.fromkeys(below))
    return list(found)


def mark_stopped(folder: Path, limit: str, cut: Mapping[Path, int]) -> None:
    """Write into the run.toml of every unfinished run below that a spending limit has ended it.

    `cut` gives, by run folder, how many examples were begun but not ended.
    """
    for place in find_runs([folder]):
        run = Run.read(place)
        with (place / FILE).open("rb") as file:
            done = sum(1 for _ in file) >= run.n
        if not done:
            replace(run, state="budget", stopped=limit, cut=cut.get(place, 0)).write(place)


def check_writable(folder: Path) -> None:
    """Raise if a run could not write to this folder; creates nothing, so that it can run before any work."""
    place = Path(folder).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise RecordError(f"cannot write to {folder}: {place} is not a folder; choose another --out")
    if not os.access(place, os.W_OK | os.X_OK):
        raise RecordError(f"cannot write to {folder}: {place} is read-only for this user; choose another --out")


class Finished(Protocol):
    """The protocol of a finished item of a run: it has an id."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LineKind:
    """The kind of lines that a run writes: their file, their name in messages, and how to read and write one."""

    file: str
    what: str
    read: Callable[[Any], Any]
    write: Callable[[Any], str]


OUTCOMES = LineKind(file=FILE, what="outcomes", read=from_plain, write=to_json)


class EncodedLine(NamedTuple):
    """An outcome as its line in the file: the worker encodes it, and the driver of many workers only writes.

    `broken` says whether it is a success that counts.
    """

    id: str
    status: Status
    broken: bool
    text: str

    @classmethod
    def of(cls, outcome: Outcome) -> EncodedLine:
        return cls(outcome.id, outcome.status, outcome.broken, to_json(outcome))


class Writer:
    """Appends finished items to a run folder, inside `with`; a second writer raises. `done` holds the ids on disk.

    A folder that holds items already is continued; the writer raises if its run.toml describes another run. `fsync`
    waits for the disk after each item.
    """

    def __init__(self, folder: Path, run: Run, *, fsync: bool = False, kind: LineKind = OUTCOMES) -> None:
        self.folder = Path(folder)
        self.run = run
        self.kind = kind
        self.done = Ids()
        self._begun = False
        self._lines = Lines(self.folder / kind.file, what=kind.what, fsync=fsync)

    @property
    def path(self) -> Path:
        return self._lines.path

    def __enter__(self) -> Writer:
        self._lines.__enter__()
        try:
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
        """Close the file; if all items are on disk, write into run.toml that the run is done."""
        self._lines.close()
        if self._begun and len(self.done) >= self.run.n and (there := Run.read(self.folder)).state != "done":
            replace(there, state="done", stopped="", cut=0).write(self.folder)

    def _take_up(self) -> None:
        remove_partial_files(self.folder, RUN_FILE, "report.html")
        for row in self._lines.read(self.kind.read):
            self.done.add(row.id)
        if len(self.done):
            there = Run.read(self.folder)
            if (difference := self.run.same_work(there)) is not None:
                raise RecordError(
                    f"{self.folder} holds {self.kind.what} of other settings: {difference}; use the same settings or "
                    "choose another --out"
                )
            begun = replace(there, state="running", stopped="", cut=0, clean=self.run.clean or there.clean)
            if len(self.done) < self.run.n and begun != there:
                begun.write(self.folder)
        else:
            self.run.write(self.folder)
        self._lines.cut()
        self._begun = True

    def add(self, row: Finished) -> None:
        """Write one line; when it returns, a kill of this process cannot lose the item."""
        if not self.add_new(row):
            raise RecordError(f"{self.folder} already holds an outcome of example {row.id!r}; ids must differ")

    def add_new(self, row: Finished) -> bool:
        """Write one line as `add` does, unless its id is there already; return whether it was new."""
        if row.id in self.done:
            return False
        self._lines.append(row.text if isinstance(row, EncodedLine) else self.kind.write(row))
        self.done.add(row.id)
        return True
