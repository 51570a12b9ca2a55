"""Happenings: what those who watch a study hear of: the progress bar, the lines on the terminal, tasks.jsonl."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

LOG = "tasks.jsonl"


@dataclass(frozen=True, slots=True)
class StudyPlanned:
    """The study begins: `left` of its `tasks` are to be done, the others are there or not needed."""

    tasks: int
    left: int


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A task is taken up. `items`: how many it has in all, and how many an earlier attempt finished; 0 of no items."""

    task: str
    items: int = 0
    before: int = 0


@dataclass(frozen=True, slots=True)
class PieceWritten:
    """A piece of a task is on disk."""

    task: str
    piece: Any


@dataclass(frozen=True, slots=True)
class TaskNote:
    """A task says something."""

    task: str
    text: str


@dataclass(frozen=True, slots=True)
class TaskMeasured:
    """A task says what its work took."""

    task: str
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker was lost over a task; what it had left undone is done again."""

    task: str
    why: str


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task is over. `how` is done, skipped or failed; `why` says why it was not done.

    `kept`: it has left something; of what was only handed over nobody need be told.
    """

    task: str
    how: str
    seconds: float
    why: str = ""
    kept: bool = True


Happening = StudyPlanned | TaskStarted | PieceWritten | TaskNote | TaskMeasured | WorkerLost | TaskEnded
Listen = Callable[[Happening], None]


class Log:
    """Writes tasks.jsonl: a line with the time for each task that ended, for what its work took, and for each worker
    that was lost."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG

    def __call__(self, happening: Happening) -> None:
        if isinstance(happening, TaskEnded):
            said = {"task": happening.task, "ended": happening.how, "seconds": round(happening.seconds, 2)}
            self._write(said | ({"why": happening.why} if happening.why else {}))
        elif isinstance(happening, TaskMeasured):
            self._write({"task": happening.task, "took": dict(happening.figures)})
        elif isinstance(happening, WorkerLost):
            self._write({"task": happening.task, "lost": happening.why})

    def _write(self, said: dict[str, Any]) -> None:
        line = json.dumps({"time": round(time(), 2), **said}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def read_log(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of tasks.jsonl; one that was cut by a kill is left out."""
    path = folder / LOG
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
