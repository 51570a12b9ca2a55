"""The executor runs the unfinished tasks of a plan, writes what they yield, and recovers from lost workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from malaprop.core.errors import MalapropError, NoMemoryError, VictimError, plain
from malaprop.frame.tasks.events import (
    Listen,
    PieceWritten,
    StudyEvent,
    StudyPlanned,
    TaskEnded,
    TaskMeasured,
    TaskNote,
    TaskStarted,
    WorkerLost,
)
from malaprop.frame.tasks.outputs import Handover, Note, Skipped, Stopped, TimeTaken
from malaprop.frame.tasks.running_task import RunningTask
from malaprop.frame.tasks.task import ExampleGroups, Inputs, Plan, Task
from malaprop.frame.tasks.workers.job import Event, Job, ThisProcess, Workers


def find_unfinished(plan: Plan, root: Path) -> dict[str, Task]:
    """Return the tasks that have to run: unfinished final tasks, and the unfinished tasks that these depend on."""
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
    """Return whether the output of every task that would run is on disk, so that nothing would change."""
    return all(task.output.there(task.folder(root)) for task in find_unfinished(plan, root).values())


@dataclass(slots=True)
class Execution:
    """The state of a running plan. If a task fails, the tasks that depend on it fail too; all others still run."""

    plan: Plan
    root: Path
    workers: Workers
    listen: Sequence[Listen] = ()
    failed: dict[str, Exception] = field(default_factory=dict)
    groups: ExampleGroups | None = None  # set if a spending limit may end the run
    stopped: str = ""  # the spending limit that ended the run early
    cut: dict[Path, int] = field(default_factory=dict)  # items in flight when the limit was reached, by folder
    _waiting: dict[str, Task] = field(default_factory=dict)
    _open: dict[str, RunningTask] = field(default_factory=dict)
    _running: dict[int, Job] = field(default_factory=dict)
    _notes_seen: set[tuple[str, str]] = field(
        default_factory=set
    )  # notes, of which many tasks and workers have the same
    _short_of_memory: set[str] = field(default_factory=set)  # tasks that ran out of memory beside others
    _losses: int = 0  # workers lost since the last piece from any worker
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self) -> Mapping[str, Exception]:
        """Run every unfinished task; return the failed tasks with their errors."""
        self._waiting = find_unfinished(self.plan, self.root)
        self._tell(StudyPlanned(len(self.plan), len(self._waiting)))
        if not self._waiting:
            return self.failed
        if isinstance(self.workers, ThisProcess):
            self.workers.forward_notes(lambda task, text: self._tell(TaskNote(task, text)))
        with ExitStack() as closing, self.workers:
            closing.callback(self._leave)
            while self._waiting or self._open:
                if self.stopped:
                    self._stop()
                self._begin()
                self._start()
                if self._running or self._ready():
                    self._handle_events()
        return self.failed

    def _stop(self) -> None:
        """Start no further task; running jobs reach the limit themselves and end."""
        self._waiting.clear()
        for one in list(self._open.values()):
            if not one.handed_out:
                one.stop(self.stopped)
            self._end(one)

    def _leave(self) -> None:
        """Close the outputs of tasks that are still open when the run ends early."""
        for one in self._open.values():
            one.closing.close()

    def _tell(self, event: StudyEvent) -> None:
        for listen in self.listen:
            listen(event)

    # --- tasks

    def _begin(self) -> None:
        """Open every waiting task whose predecessors have ended."""
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
                if ("", note) not in self._notes_seen:
                    self._notes_seen.add(("", note))
                    self._tell(TaskNote("", note))
            self._tell(TaskStarted(name, 0 if one.whole is None else one.whole.n, len(one.before)))

    def _inputs(self, task: Task) -> Inputs | Skipped:
        """Return the inputs of a task: predecessors' values, victims and read data; or the `Skipped` it follows."""
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
        """Close a task if all of it was handed out and no job of it runs."""
        if not one.over:
            return
        one.close()
        name = one.task.name
        del self._open[name]
        if one.error is not None and not one.forgiven:
            if one.task.vital:
                raise one.error
            self.failed[name] = one.error
        kept = not (one.task.quiet or isinstance(one.task.output, Handover))
        self._tell(TaskEnded(name, one.how, one.seconds, one.why, kept))

    # --- jobs

    def _start(self) -> None:
        """Hand jobs to free workers until no worker is free or nothing is ready."""
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
        """Return the tasks with work to hand out. A timed task (`alone`) is ready only when nothing else runs."""
        if any(self._is_alone(job.task) for job in self._running.values()):
            return []
        found = [one.task for one in self._within([one for one in self._open.values() if not one.handed_out])]
        together = [task for task in found if not self._is_alone(task)]
        return together or ([] if self._running else found[:1])

    def _within(self, left: list[RunningTask]) -> list[RunningTask]:
        """Return the tasks that may go on within the group of examples; open the next group when all are through it."""
        if self.groups is None:
            return left
        front = self.groups.front
        allowed = [one for one in left if one.shares is None or one.shares.returned or one.reach < front]
        if allowed or not left or self._running:
            return allowed
        self.groups.advance(min(one.reach for one in left))
        return self._within(left)

    def _is_alone(self, task: Task) -> bool:
        return task.alone or task.name in self._short_of_memory

    def _helpers(self, one: RunningTask) -> int:
        """Return among how many workers to divide this task: those that no other open task needs."""
        if self._is_alone(one.task):
            return 1
        others = sum(1 for other in self._open.values() if other is not one and not other.handed_out)
        return max(1, self.workers.many - others)

    # --- events of workers

    def _handle_events(self) -> None:
        """Handle workers' events until a job ends, a free worker has work waiting, or no event comes for a while."""
        over = False
        while not over:
            spoke = False
            for event in self.workers.events():
                spoke = True
                over |= self._handle(event)
            over |= not spoke or (self.workers.idle and bool(self._ready()))

    def _handle(self, event: Event) -> bool:
        """Handle one event of a worker; return whether its job is over."""
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
        """Record a failed job. A task that ran out of memory beside others is first tried once more, alone."""
        name = one.task.name
        if not isinstance(error, NoMemoryError) or self.workers.many == 1 or name in self._short_of_memory or one.error:
            one.fail(error)
            return
        self._short_of_memory.add(name)
        self._tell(TaskNote(name, "too little memory beside other tasks; it is tried again alone"))
        one.hand_out_again(job.portion)

    def _take(self, one: RunningTask, job: Job, piece: Any) -> None:
        if isinstance(piece, Note):
            said = "" if piece.once else one.task.name, piece.text
            if said not in self._notes_seen:
                self._notes_seen.add(said)
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
