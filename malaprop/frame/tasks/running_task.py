"""A running task as the executor sees it: its open output, the items left to hand out, and how it ended."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from malaprop.core.errors import VictimError, plain
from malaprop.frame.tasks.outputs import Add, Skipped
from malaprop.frame.tasks.task import IN_FLIGHT, Inputs, Outline, Portion, Share, Shares, Task
from malaprop.frame.tasks.workers.job import Job

DEATHS = 3  # a task fails after it lost so many workers in a row without one piece


@dataclass(slots=True, eq=False)
class RunningTask:
    """One task between its beginning and its end."""

    task: Task
    folder: Path
    inputs: Inputs
    before: Any
    add: Add
    closing: ExitStack
    whole: Outline | None = None
    shares: Shares | None = None
    notes: tuple[str, ...] = ()  # decisions of the reader of the items, for the user
    handed_out: bool = False  # nothing is left to hand out
    running: int = 0  # jobs
    pieces: int = 0
    deaths: int = 0  # workers lost since the last piece; for a task without items, all workers lost
    skipped: Skipped | None = None
    stopped: str = ""  # the spending limit that ended it
    cut: int = 0  # items in flight when the limit was reached
    error: Exception | None = None
    began: float = 0.0  # when its first job was handed out

    @classmethod
    def begin(cls, task: Task, folder: Path, inputs: Inputs) -> RunningTask:
        """Open the output of a task and read its unfinished items."""
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
        """Whether the task's failure is recorded as a result and does not fail the study."""
        spared = (VictimError, ModuleNotFoundError)
        return self.task.optional and (not self.task.vital or isinstance(self.error, spared))

    @property
    def over(self) -> bool:
        return self.handed_out and not self.running

    @property
    def reach(self) -> int:
        """The number of its items that are done or handed out."""
        return len(self.before) + (0 if self.shares is None else self.shares.handed_out)

    def next(self, number: int, *, whole: bool, helpers: int, front: int | None = None) -> Job | None:
        """Return the next job, the whole task or a share of its items; None if nothing is left.

        `helpers` is the number of workers that divide the items; `front` bounds the items handed out in all.
        """
        self.began = self.began or perf_counter()
        if self.shares is None or self.whole is None:
            self.handed_out = True
            return Job(number, self.task)
        if whole and front is None:
            self.handed_out = True
            return Job(number, self.task, Share(self.shares.rest(), self.whole))
        portion = self.shares.next(helpers, IN_FLIGHT if front is None else max(1, front - self.reach))
        if portion is None:
            self.handed_out = True
            if self.pieces or self.running:
                return None
            portion = Portion(())  # a job without items still writes the description of the run
        return Job(number, self.task, Share(list(portion.left.values()), self.whole), portion)

    def take(self, piece: Any, portion: Portion | None) -> None:
        """Write a piece, and cross its item off the portion."""
        self.add(piece)
        self.pieces += 1
        self.deaths = 0 if self.shares is not None else self.deaths
        if isinstance(piece, Skipped):
            self.skipped, self.handed_out = piece, True
        if portion is not None:
            portion.left.pop(getattr(piece, "id", ""), None)

    def lose(self, portion: Portion | None, why: str) -> Any:
        """Give the examples that a lost worker did not finish to another worker.

        Return the error piece of an item that has killed every worker that tried it, or None.
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
        """Put the unfinished items of a portion back, for another worker."""
        if self.shares is not None and portion is not None:
            self.shares.put(portion)
        else:
            self.before = self.task.output.before(self.folder)
        self.handed_out = False

    def stop(self, reason: str) -> None:
        """Hand out nothing more because a spending limit is reached; running jobs may still send pieces."""
        self.stopped, self.handed_out = self.stopped or reason, True

    def fail(self, error: Exception) -> None:
        """Hand out nothing more because of this error; running jobs may still send pieces."""
        self.error, self.handed_out = self.error or error, True

    def close(self) -> None:
        """Close the output; write the failure of an optional task as its result, which resuming tries again."""
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
