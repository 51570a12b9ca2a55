"""Current: a task that has begun. Where its pieces go, what is left to hand out, and what became of it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from malaprop.core.errors import VictimError, plain
from malaprop.frame.tasks.outputs import Add, Skipped
from malaprop.frame.tasks.shares import LARGEST, Portion, Shares
from malaprop.frame.tasks.task import Inputs, Outline, Share, Task
from malaprop.frame.tasks.workers.job import Job

DEATHS = 3  # workers that a task may lose in a row, before it has said anything, until it is given up


@dataclass(slots=True, eq=False)
class RunningTask:
    """A task under way."""

    task: Task
    folder: Path
    inputs: Inputs
    before: Any
    add: Add
    closing: ExitStack
    whole: Outline | None = None
    shares: Shares | None = None
    notes: tuple[str, ...] = ()  # what the reader of the items had to decide
    handed_out: bool = False  # all of it
    running: int = 0  # jobs
    pieces: int = 0
    deaths: int = 0  # workers lost in a row, without a piece; of a task without items all of them
    skipped: Skipped | None = None
    stopped: str = ""  # the spending limit that ended it
    cut: int = 0  # items that were begun and not ended when it was reached
    error: Exception | None = None
    began: float = 0.0  # when its first job was handed out

    @classmethod
    def begin(cls, task: Task, folder: Path, inputs: Inputs) -> RunningTask:
        """Opens the output and reads the items that are left."""
        before = task.output.before(folder)
        with ExitStack() as closing:
            one = cls(task, folder, inputs, before, closing.enter_context(task.output.open(folder)), ExitStack())
            if task.items is not None:
                items = task.items(inputs)
                one.notes = tuple(getattr(items, "notes", ()))
                one.whole = Outline.of(items)
                one.shares = Shares((item for item in items if item.id not in before), len(items) - len(before))
            one.closing = closing.pop_all()
        return one

    @property
    def forgiven(self) -> bool:
        """Whether its failure is a result."""
        spared = (VictimError, ModuleNotFoundError)
        return self.task.optional and (not self.task.vital or isinstance(self.error, spared))

    @property
    def over(self) -> bool:
        return self.handed_out and not self.running

    @property
    def reach(self) -> int:
        """How many of its items are done or handed out."""
        return len(self.before) + (0 if self.shares is None else self.shares.handed_out)

    def next(self, number: int, *, whole: bool, helpers: int, front: int | None = None) -> Job | None:
        """The next job: all of the task, or a share of its items for one of the helpers; None: nothing is left.

        With a `front` no more items than that are handed out in all.
        """
        self.began = self.began or perf_counter()
        if self.shares is None or self.whole is None:
            self.handed_out = True
            return Job(number, self.task)
        if whole and front is None:
            self.handed_out = True
            return Job(number, self.task, Share(self.shares.rest(), self.whole))
        portion = self.shares.next(helpers, LARGEST if front is None else max(1, front - self.reach))
        if portion is None:
            self.handed_out = True
            if self.pieces or self.running:
                return None
            portion = Portion(())  # where nothing is left there is still a run to describe
        return Job(number, self.task, Share(list(portion.left.values()), self.whole), portion)

    def take(self, piece: Any, portion: Portion | None) -> None:
        """Writes a piece."""
        self.add(piece)
        self.pieces += 1
        self.deaths = 0 if self.shares is not None else self.deaths
        if isinstance(piece, Skipped):
            self.skipped, self.handed_out = piece, True
        if portion is not None:
            portion.left.pop(getattr(piece, "id", ""), None)

    def lose(self, portion: Portion | None, why: str) -> Any:
        """A worker was lost over this task: what it left undone is handed out again.

        Gives the piece that says so of an item that has ended each worker that took it up.
        """
        self.deaths += 1
        if self.shares is not None and portion is not None and self.pieces:
            self.handed_out = False
            guilty = self.shares.back(portion)
            said = f"its worker died {portion.deaths} times while attacking it: {why}"
            return None if guilty is None else self.task.output.blame(self.folder, guilty, said)
        if self.deaths >= DEATHS:
            raise VictimError(
                f"{self.task.name}: its worker was lost {self.deaths} times ({why}); what is finished is kept; use "
                "fewer --jobs if memory was short"
            )
        self.hand_out_again(portion)
        return None

    def hand_out_again(self, portion: Portion | None) -> None:
        """What a worker left undone is to be done by another."""
        if self.shares is not None and portion is not None:
            self.shares.put(portion)
        else:
            self.before = self.task.output.before(self.folder)
        self.handed_out = False

    def stop(self, reason: str) -> None:
        """Hands out nothing more, for a spending limit is reached; what runs is still heard."""
        self.stopped, self.handed_out = self.stopped or reason, True

    def fail(self, error: Exception) -> None:
        """Hands out nothing more; what runs is still heard."""
        self.error, self.handed_out = self.error or error, True

    def close(self) -> None:
        """Ends the output; the failure of an optional task is its result, until the study is resumed."""
        if self.error is not None and self.forgiven:
            self.skipped = Skipped(plain(self.error), failed=True)
            self.add(self.skipped)
        self.closing.close()

    @property
    def how(self) -> str:
        if self.error is not None:
            return "failed"
        return "skipped" if self.skipped is not None else "budget" if self.stopped else "done"

    @property
    def why(self) -> str:
        if self.error is not None:
            return plain(self.error)
        return self.stopped if self.skipped is None else self.skipped.reason

    @property
    def seconds(self) -> float:
        return perf_counter() - self.began if self.began else 0.0
