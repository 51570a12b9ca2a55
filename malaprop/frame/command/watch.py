"""Terminal progress: a listener that shows a study's tasks as bars and lines, and a bar that counts items."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from malaprop.core.errors import plain
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import EncodedLine
from malaprop.frame.records.summary import Rate
from malaprop.frame.tasks.events import (
    Listen,
    PieceWritten,
    StudyEvent,
    StudyPlanned,
    TaskEnded,
    TaskNote,
    TaskStarted,
    WorkerLost,
)

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextmanager
def watch(quiet: bool) -> Iterator[Listen]:
    """Provide a listener that shows a study's tasks: bars on a terminal, and a line for each task that ends."""
    if quiet:
        yield lambda event: None  # noqa: ARG005
        return
    with _bar() as bar:
        listener = TerminalListener(bar)
        try:
            yield listener
        except Exception as error:
            listener.settle(plain(error))
            raise
        listener.settle()


@contextmanager
def _bar() -> Iterator[Progress | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = TextColumn("{task.description}", markup=False)
    columns = (shown, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar


class TerminalListener:
    """A listener that counts the items each task has written and prints how each task ended.

    On a terminal it shows a bar for all tasks, and one for each task that has written an item.
    """

    def __init__(self, bar: Progress | None) -> None:
        self.bar = bar
        self._all: TaskID | None = None
        self._bars: dict[str, TaskID] = {}
        self._sizes: dict[str, tuple[int, int]] = {}  # by task: its items, and how many were done before
        self._ended: dict[str, Counter[str]] = {}  # by task: attacks that failed, reached the goal, kept the meaning
        self._failure = "", ""  # why a task failed, and its line, held back because the failure may end the study

    def __call__(self, event: StudyEvent) -> None:
        match event:
            case StudyPlanned(tasks, left):
                if left < tasks:
                    self._say(f"{tasks - left} of {tasks} parts are done already, or not needed")
                if self.bar is not None and left:
                    self._all = self.bar.add_task("parts", total=left)
            case TaskStarted(task, items, before):
                self._sizes[task] = items, before
            case PieceWritten(task, (_, piece)) | PieceWritten(task, piece) if not isinstance(piece, Run):
                if isinstance(piece, (EncodedLine, Outcome)) and piece.status in ("success", "failed"):
                    how = "kept" if piece.broken else "refused" if piece.status == "success" else "failed"
                    self._ended.setdefault(task, Counter())[how] += 1
                self._advance(task)
            case TaskNote(task, text):
                self._say(f"{task}: {text}" if task else text)
            case WorkerLost(task, why):
                self._say(f"{task}: a worker was lost ({why}); its unfinished items are done again")
            case TaskEnded(task, how, seconds, why, kept):
                self._close(task)
                found = self._figures(task, part=how == "budget")
                line = f"{task}: {found}{how}{f' ({why})' if why else ''}, {seconds:.1f} s"
                if how == "failed":
                    self.settle()
                    self._failure = why, line
                elif how != "not begun" and (kept or how != "done"):
                    self._say(line)

    def settle(self, end: str = "") -> None:
        """Print the failure that was held back, unless it ends the study, whose error shows it."""
        (why, line), self._failure = self._failure, ("", "")
        if line and why != end:
            self._say(line)

    def _advance(self, task: str) -> None:
        items, before = self._sizes.get(task, (0, 0))
        if self.bar is None or not items:
            return
        if task not in self._bars:
            self._bars[task] = self.bar.add_task(task, total=items, completed=before)
        self.bar.advance(self._bars[task])

    def _close(self, task: str) -> None:
        if self.bar is None:
            return
        if task in self._bars:
            self.bar.remove_task(self._bars.pop(task))
        if self._all is not None:
            self.bar.advance(self._all)

    def _figures(self, task: str, *, part: bool) -> str:
        """Return on how many texts the attacks succeeded; without a rate if only part of them ended.

        Where the judge of meaning refused some, it says both: tables count either. After a resume it says that older
        texts are not in it.
        """
        found = self._ended.pop(task, Counter())
        kept, many = found["kept"], found.total()
        if not many:
            return ""
        refused = f"goal reached {kept + found['refused']} of {many}, meaning kept" if found["refused"] else ""
        new = " of the new texts" if self._sizes.get(task, (0, 0))[1] else ""
        return f"{refused or 'attack success'} {f'{kept} of {many}' if part else Rate(kept, many)}{new}, "

    def _say(self, line: str) -> None:
        self.settle()
        if self.bar is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self.bar.console.print(line, markup=False, highlight=False)


@contextmanager
def count_bar(what: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Provide a function that advances a progress bar by the given number of items."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.update(task, advance=more)
