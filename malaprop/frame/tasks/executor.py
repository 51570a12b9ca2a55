"""Executor: does the tasks of a plan that are not done yet, writes what they yield, and outlives lost workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from malaprop.core.errors import MalapropError, NoMemoryError, VictimError, plain
from malaprop.frame.tasks.events import (
    Happening,
    Listen,
    PieceWritten,
    StudyPlanned,
    TaskEnded,
    TaskMeasured,
    TaskNote,
    TaskStarted,
    WorkerLost,
)
from malaprop.frame.tasks.outputs import Handover, Note, Skipped, Stopped, TimeTaken
from malaprop.frame.tasks.running_task import RunningTask
from malaprop.frame.tasks.shares import Groups
from malaprop.frame.tasks.task import Inputs, Plan, Task
from malaprop.frame.tasks.workers.job import Event, Job, Workers
from malaprop.frame.tasks.workers.this_process import ThisProcess


def find_wanted(plan: Plan, root: Path) -> dict[str, Task]:
    """What has to be done: the ends that are not there, and of what stands before them what is not there either."""
    needed: set[str] = set()

    def want(name: str) -> None:
        task = plan[name]
        if name not in needed and not task.output.done(task.folder(root)):
            needed.add(name)
            for before in task.after:
                want(before)

    inner = {before for task in plan.values() for before in task.after}
    for name in plan.keys() - inner:
        want(name)
    return {name: plan[name] for name in plan if name in needed}  # in the order of the plan


def is_finished(plan: Plan, root: Path) -> bool:
    """Whether all that would begin has only to be compared or found anew, and lies there from the last time."""
    return all(task.output.there(task.folder(root)) for task in find_wanted(plan, root).values())


@dataclass(slots=True)
class Execution:
    """One plan on its way. A failed task takes with it what stands behind it; the rest is done all the same."""

    plan: Plan
    root: Path
    workers: Workers
    listen: Sequence[Listen] = ()
    failed: dict[str, Exception] = field(default_factory=dict)
    groups: Groups | None = None  # where a limit may end it
    stopped: str = ""  # the spending limit that ended it before all was done
    cut: dict[Path, int] = field(default_factory=dict)  # by folder, the items under way when it was reached
    _waiting: dict[str, Task] = field(default_factory=dict)
    _open: dict[str, RunningTask] = field(default_factory=dict)
    _running: dict[int, Job] = field(default_factory=dict)
    _said: set[tuple[str, str]] = field(default_factory=set)  # notes, of which many tasks and workers have the same
    _cramped: set[str] = field(default_factory=set)  # tasks that found too little memory beside others
    _losses: int = 0  # workers lost in a row, without a piece from anybody
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self) -> Mapping[str, Exception]:
        """Does what is wanted; gives the tasks that failed, with their errors."""
        self._waiting = find_wanted(self.plan, self.root)
        self._tell(StudyPlanned(len(self.plan), len(self._waiting)))
        if not self._waiting:
            return self.failed
        if isinstance(self.workers, ThisProcess):
            self.workers.hear_notes(lambda task, text: self._tell(TaskNote(task, text)))
        with ExitStack() as closing, self.workers:
            closing.callback(self._leave)
            while self._waiting or self._open:
                if self.stopped:
                    self._stop()
                self._begin()
                self._start()
                if self._running or self._ready():
                    self._listen()
        return self.failed

    def _stop(self) -> None:
        """Begins nothing more; what is under way meets the limit itself, and ends."""
        self._waiting.clear()
        for one in list(self._open.values()):
            if not one.handed_out:
                one.stop(self.stopped)
            self._end(one)

    def _leave(self) -> None:
        """Closes what was left early."""
        for one in self._open.values():
            one.closing.close()

    def _tell(self, happening: Happening) -> None:
        for listen in self.listen:
            listen(happening)

    # --- tasks

    def _begin(self) -> None:
        """Opens the tasks whose turn it is."""
        for name, task in list(self._waiting.items()):
            if (self._waiting.keys() | self._open.keys()) & set(task.after):
                continue
            del self._waiting[name]
            if bad := next((before for before in task.after if before in self.failed), None):
                self.failed[name] = self.failed[bad]
                self._tell(TaskEnded(name, "not begun", 0.0, f"{bad} failed"))
                continue
            try:
                inputs = self._inputs(task)
                if isinstance(inputs, Skipped):
                    self._skip(task, inputs)
                    continue
                one = RunningTask.begin(task, task.folder(self.root), inputs)
            except Exception as error:  # noqa: BLE001 - what this task cannot read need not stop the others
                self._fail(name, error)
                continue
            self._open[name] = one
            for note in one.notes:
                if ("", note) not in self._said:
                    self._said.add(("", note))
                    self._tell(TaskNote("", note))
            self._tell(TaskStarted(name, 0 if one.whole is None else one.whole.n, len(one.before)))

    def _inputs(self, task: Task) -> Inputs | Skipped:
        """The values of the tasks before it, its victims, and what is read for it; or why one before it was skipped."""
        before = [self.plan[name] for name in task.after]
        found = {one.name: one.output.value(one.folder(self.root)) for one in before}
        skipped = next((value for value in found.values() if isinstance(value, Skipped)), None)
        if skipped is not None and task.follows:
            return skipped
        found |= dict(task.victims)
        return found if task.reads is None else {**found, **task.reads(found)}

    def _skip(self, task: Task, why: Skipped) -> None:
        with task.output.open(task.folder(self.root)) as add:
            add(why)
        self._tell(TaskEnded(task.name, "skipped", 0.0, why.reason))

    def _fail(self, name: str, error: Exception) -> None:
        if self.plan[name].vital:
            raise error
        self.failed[name] = error
        self._tell(TaskEnded(name, "failed", 0.0, plain(error)))

    def _end(self, one: RunningTask) -> None:
        """Closes a task of which nothing is left."""
        if not one.over:
            return
        one.close()
        name = one.task.name
        del self._open[name]
        if one.error is not None and not one.forgiven:
            if one.task.vital:
                raise one.error
            self.failed[name] = one.error
        kept = not isinstance(one.task.output, Handover)
        self._tell(TaskEnded(name, one.how, one.seconds, one.why, kept))

    # --- jobs

    def _start(self) -> None:
        """Gives work to whoever is free."""
        while ready := self._ready():
            task = self.workers.pick(ready)
            if task is None:
                return
            one = self._open[task.name]
            try:
                front = None if self.groups is None else self.groups.front
                job = one.next(next(self._numbers), whole=self.workers.whole, helpers=self._helpers(one), front=front)
                if job is not None:
                    self.workers.start(job, one.inputs, one.before)
            except MalapropError as error:  # data that cannot be read, or work that cannot be sent
                one.fail(error)
                job = None
            if job is None:
                self._end(one)
                continue
            self._running[job.number] = job
            one.running += 1

    def _ready(self) -> list[Task]:
        """Tasks of which something can be handed out; what is timed comes when nothing else runs."""
        if any(self._is_alone(job.task) for job in self._running.values()):
            return []
        found = [one.task for one in self._within([one for one in self._open.values() if not one.handed_out])]
        together = [task for task in found if not self._is_alone(task)]
        return together or ([] if self._running else found[:1])

    def _within(self, left: list[RunningTask]) -> list[RunningTask]:
        """Of what is left that which the group allows; when all tasks are through it, the next group is opened."""
        if self.groups is None:
            return left
        front = self.groups.front
        allowed = [one for one in left if one.shares is None or one.shares.returned or one.reach < front]
        if allowed or not left or self._running:
            return allowed
        self.groups.advance(min(one.reach for one in left))
        return self._within(left)

    def _is_alone(self, task: Task) -> bool:
        return task.alone or task.name in self._cramped

    def _helpers(self, one: RunningTask) -> int:
        """How many workers have nothing else to do than this task."""
        if self._is_alone(one.task):
            return 1
        others = sum(1 for other in self._open.values() if other is not one and not other.handed_out)
        return max(1, self.workers.many - others)

    # --- what workers say

    def _listen(self) -> None:
        """Hears what is said until a job is over, somebody is free for what is ready, or nobody speaks for a while."""
        over = False
        while not over:
            spoke = False
            for event in self.workers.events():
                spoke = True
                over |= self._hear(event)
            over |= not spoke or (self.workers.idle and bool(self._ready()))

    def _hear(self, event: Event) -> bool:
        """Takes in what was said; whether the job is over."""
        job = self._running[event.job]
        one = self._open[job.task.name]
        if event.kind == "pieces":
            for piece in event.value:
                self._take(one, job, piece)
            return False
        del self._running[event.job]
        one.running -= 1
        if event.kind == "lost":
            self._lose(one, job, str(event.value))
        elif event.kind == "failed":
            self._fail_job(one, job, event.value)
        self._end(one)
        return True

    def _fail_job(self, one: RunningTask, job: Job, error: Exception) -> None:
        """A task that found too little memory beside others is tried once more, when nothing else runs."""
        name = one.task.name
        if not isinstance(error, NoMemoryError) or self.workers.many == 1 or name in self._cramped or one.error:
            one.fail(error)
            return
        self._cramped.add(name)
        self._tell(TaskNote(name, "too little memory beside other tasks; it is tried again alone"))
        one.hand_out_again(job.portion)

    def _take(self, one: RunningTask, job: Job, piece: Any) -> None:
        if isinstance(piece, Note):
            said = "" if piece.once else one.task.name, piece.text
            if said not in self._said:
                self._said.add(said)
                self._tell(TaskNote(*said))
            return
        if isinstance(piece, Stopped):
            self.stopped = self.stopped or piece.reason
            one.stop(piece.reason)
            one.cut += 0 if job.portion is None else len(job.portion)
            self.cut[one.folder] = one.cut
            return
        if isinstance(piece, TimeTaken):
            self._tell(TaskMeasured(one.task.name, piece.figures))
            return
        one.take(piece, job.portion)  # a full disk, or a folder that holds other work, ends the study
        self._losses = 0
        self._tell(PieceWritten(one.task.name, piece))

    def _lose(self, one: RunningTask, job: Job, why: str) -> None:
        self._losses += 1
        if self._losses > 10 + 2 * self.workers.many:
            raise VictimError(
                f"workers were lost {self._losses} times in a row without a result ({why}); what is finished is kept"
            )
        self._tell(WorkerLost(one.task.name, why))
        if one.error is not None:
            return
        try:
            blamed = one.lose(job.portion, why)
        except MalapropError as error:
            one.fail(error)
            return
        if blamed is not None:
            self._take(one, job, blamed)
