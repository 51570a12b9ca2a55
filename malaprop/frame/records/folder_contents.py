"""The inventory of a folder: its runs with their progress, its records, and the studies that were begun there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from malaprop.core.errors import MalapropError, RecordError
from malaprop.core.settings import read_toml
from malaprop.frame.records.kinds import Kind, kinds
from malaprop.frame.records.run import FILE as RUN
from malaprop.frame.records.run import Run

STUDY = "study.toml"
LINES = {  # files that runs write line by line, and the name of their items
    "outcomes.jsonl": "outcomes",
    "natural.jsonl": "images",
    "naturaltext.jsonl": "sentences",
    "classifiers.jsonl": "classifiers",
    "certificates.jsonl": "certificates",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRun:
    """A run: `done` of `wanted` lines are on disk; `fault` says why its run.toml cannot be read."""

    folder: Path
    what: str
    done: int
    wanted: int = 0
    name: str = ""
    fault: str = ""
    state: str = ""  # budget: a spending limit ended it
    stopped: str = ""  # the limit that ended it, as --max-queries 2000

    @property
    def left(self) -> int:
        return max(0, self.wanted - self.done)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRecord:
    """A record; `fault` says why its file cannot be read."""

    folder: Path
    kind: str
    about: str
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderContents:
    """The studies, runs and records at or below a folder."""

    studies: tuple[tuple[Path, str], ...]  # (folder, command)
    runs: tuple[FolderRun, ...]
    records: tuple[FolderRecord, ...]

    @property
    def left(self) -> int:
        """The number of examples that the runs have not finished."""
        return sum(run.left for run in self.runs)


def list_contents(folders: Iterable[Path]) -> FolderContents:
    """Return the contents of the folders and all below them; a broken file is listed with its fault."""
    studies: dict[Path, str] = {}
    runs: dict[Path, FolderRun] = {}
    records: dict[Path, FolderRecord] = {}
    table = {kind.file: kind for kind in kinds().values()}
    for folder in folders:
        if not folder.is_dir():
            raise RecordError(f"no such folder: {folder}; give a folder that a command wrote, or one above it")
        for path in sorted(folder.rglob("*")):
            if path.name == STUDY:
                studies[path.parent] = _command(path)
            elif path.name in LINES and (path.parent / RUN).is_file():
                runs[path] = _run(path)
            elif path.name in table:
                records[path] = _record(table[path.name], path)
    return FolderContents(studies=tuple(studies.items()), runs=tuple(runs.values()), records=tuple(records.values()))


def _command(path: Path) -> str:
    try:
        return str(read_toml(path).get("command", ""))
    except MalapropError as error:
        return str(error)


def _run(path: Path) -> FolderRun:
    with path.open("rb") as file:
        done = sum(line.endswith(b"\n") for line in file)
    held = FolderRun(folder=path.parent, what=LINES[path.name], done=done)
    try:
        run = Run.read(path.parent)
    except MalapropError as error:
        return replace(held, fault=str(error))
    name = f"{run.recipe} on {run.victim}, {run.data}"
    return replace(held, wanted=run.n, name=name, state=run.state, stopped=run.stopped)


def _record(kind: Kind, path: Path) -> FolderRecord:
    fault = ""
    try:
        kind.read(path)
    except RecordError as error:
        fault = str(error)
    return FolderRecord(folder=path.parent, kind=kind.name, about=kind.about, fault=fault)
