"""Tells on the terminal what becomes of a study's tasks: a bar, and a line for each that ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from malaprop.records.outcome import Outcome
from malaprop.records.run import Run
from malaprop.records.summary import Rate
from malaprop.tasks.happenings import Began, Ended, Happening, Listen, Lost, Noted, Planned, Wrote

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextmanager
def watch(quiet: bool) -> Iterator[Listen]:
    """Gives a listener that tells of a study's tasks: a bar on a terminal, and a line for each that ends."""
    if quiet:
        yield lambda happening: None  # noqa: ARG005
        return
    with _bar() as bar:
        yield Teller(bar)


@contextmanager
def _bar() -> Iterator[Progress | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar


class Teller:
    """Counts what is written of each task, shows it on the bar if there is one, and says how each task ended."""

    def __init__(self, bar: Progress | None) -> None:
        self.bar = bar
        self._bars: dict[str, TaskID] = {}
        self._broken: dict[str, list[bool]] = {}

    def __call__(self, happening: Happening) -> None:
        match happening:
            case Planned(tasks, left) if left < tasks:
                self._say(f"{tasks - left} of {tasks} parts are done already, or not needed")
            case Began(task, items, before) if self.bar is not None:
                self._bars[task] = self.bar.add_task(task, total=items or None, completed=before)
            case Wrote(task, (_, piece)) | Wrote(task, piece) if not isinstance(piece, Run):
                if isinstance(piece, Outcome) and piece.status in ("success", "failed"):
                    self._broken.setdefault(task, []).append(piece.status == "success")
                if self.bar is not None and task in self._bars:
                    self.bar.advance(self._bars[task])
            case Noted(task, text):
                self._say(f"{task}: {text}" if task else text)
            case Lost(task, why):
                self._say(f"{task}: a worker was lost ({why}); what it left undone is done again")
            case Ended(task, how, seconds, why, kept) if how != "not begun":
                if self.bar is not None and task in self._bars:
                    self.bar.remove_task(self._bars.pop(task))
                if kept or how != "done":
                    self._say(f"{task}: {self._figures(task)}{how}{f' ({why})' if why else ''}, {seconds:.1f} s")

    def _figures(self, task: str) -> str:
        found = self._broken.pop(task, [])
        return f"broke {Rate(sum(found), len(found))}, " if found else ""

    def _say(self, line: str) -> None:
        if self.bar is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self.bar.console.print(line, markup=False, highlight=False)
