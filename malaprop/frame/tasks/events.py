"""Events of a running study, which the executor reports to listeners: progress bars, terminal lines, tasks.jsonl."""

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
    """A study begins: `left` of its `tasks` have to run; the others are done or not needed."""

    tasks: int
    left: int


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A task begins. It has `items` in all (0 if it has none), of which an earlier attempt finished `before`."""

    task: str
    items: int = 0
    before: int = 0


@dataclass(frozen=True, slots=True)
class PieceWritten:
    """The executor has written one piece of a task to disk."""

    task: str
    piece: Any


@dataclass(frozen=True, slots=True)
class TaskNote:
    """A task sends a line of text for the user."""

    task: str
    text: str


@dataclass(frozen=True, slots=True)
class TaskMeasured:
    """A task reports the cost of its work, such as queries and seconds."""

    task: str
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker died while it did a task; the executor hands its unfinished items out again."""

    task: str
    why: str


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task has ended. `how` is done, skipped, budget, failed or not begun; `why` is the reason if it is not done.

    `kept` is False if users need not hear that it is done: its output is only a value in memory (`Handover`), or it is
    `quiet`.
    """

    task: str
    how: str
    seconds: float
    why: str = ""
    kept: bool = True


StudyEvent = StudyPlanned | TaskStarted | PieceWritten | TaskNote | TaskMeasured | WorkerLost | TaskEnded
Listen = Callable[[StudyEvent], None]


class Log:
    """Appends a line to tasks.jsonl, with the time, for each ended task, each reported cost and each lost worker."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG

    def __call__(self, event: StudyEvent) -> None:
        if isinstance(event, TaskEnded):
            said = {"task": event.task, "ended": event.how, "seconds": round(event.seconds, 2)}
            self._write(said | ({"why": event.why} if event.why else {}))
        elif isinstance(event, TaskMeasured):
            self._write({"task": event.task, "took": dict(event.figures)})
        elif isinstance(event, WorkerLost):
            self._write({"task": event.task, "lost": event.why})

    def _write(self, said: dict[str, Any]) -> None:
        line = json.dumps({"time": round(time(), 2), **said}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def read_log(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of tasks.jsonl; skip a line that a kill cut short."""
    path = folder / LOG
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
