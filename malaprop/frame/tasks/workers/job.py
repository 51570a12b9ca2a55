"""A job is a task, or a share of its items, for one worker; it answers with events. This process is one such worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from malaprop.core import errors
from malaprop.core.budget import Budget
from malaprop.core.errors import LimitReached, MalapropError, VictimError, plain, short_of_memory
from malaprop.frame.tasks.outputs import Note, Stopped
from malaprop.frame.tasks.task import Inputs, Portion, Share, Task
from malaprop.frame.tasks.worker_context import Place, WorkerContext

EVERY = 0.25  # seconds between two lists of pieces; what a lost worker had not sent is done again


class Job(NamedTuple):
    """The work of one worker. `portion` is the driver's list of the items that are not done yet."""

    number: int
    task: Task
    share: Share | None = None
    portion: Portion | None = None


class Event(NamedTuple):
    """News of a job; `kind` is pieces (value: a list), end, failed (an exception) or lost (the reason)."""

    job: int
    kind: str
    value: Any = None


class Workers(Protocol):
    """What the executor needs of workers. They are used inside `with`; leaving it with an error ends running jobs."""

    many: int  # jobs at a time
    whole: bool  # one worker gets a task with all its items

    @property
    def idle(self) -> bool:
        """Whether a worker is free."""

    def pick(self, ready: Sequence[Task]) -> Task | None:
        """Choose the task that a free worker should start now; None if no worker is free."""

    def start(self, job: Job, inputs: Inputs, before: Any) -> None:
        """Start a job of the task that `pick` chose; raise if it cannot be sent to the worker."""

    def events(self) -> Iterable[Event]:
        """Wait for news from workers, and yield it."""

    def __enter__(self) -> Workers: ...

    def __exit__(self, *what: object) -> None: ...


def perform(task: Task, context: WorkerContext, inputs: Inputs, share: Share | None) -> Iterator[Any]:
    """Yield the pieces of a job where it runs; the last one is `Stopped` if a spending limit ended it."""
    try:
        for piece in task.work(context, inputs) if task.items is None else task.work(context, inputs, share):
            yield from map(Note, context.take_notes())
            yield piece
    except LimitReached as reached:
        yield Stopped(plain(reached))
    yield from map(Note, context.take_notes())
    if context.budget_client is not None:
        context.budget_client.close()


def batches(pieces: Iterable[Any], clock: Callable[[], float] = perf_counter) -> Iterator[list[Any]]:
    """Yield pieces in small lists; the first at once, because it describes the run and the other lines need it."""
    ready: list[Any] = []
    sent = float("-inf")
    for piece in pieces:
        ready.append(piece)
        if clock() - sent > EVERY:
            yield ready
            ready, sent = [], clock()
    if ready:
        yield ready


def choose(ready: Sequence[Task], held: set[str], elsewhere: set[str]) -> Task:
    """Choose the first task whose models this worker holds, else the first whose models no other holds, else the first.

    A free worker loads what another holds rather than wait.
    """
    own = (task for task in ready if task.holds and held.issuperset(task.holds))
    free = (task for task in ready if elsewhere.isdisjoint(task.holds))
    return next(own, next(free, ready[0]))


@dataclass(frozen=True, slots=True)
class RemoteError:
    """An error of a worker as text, because not every exception survives pickling; `node` names another machine."""

    kind: str
    words: str
    node: str = ""

    @classmethod
    def of(cls, error: BaseException, what: str, node: str = "") -> RemoteError:
        """Convert an exception to one that can be sent to the driver."""
        if short_of_memory(error):
            words = f"{what}: no memory for it ({plain(error)[:200]}); use fewer workers a machine, or larger machines"
            return cls("NoMemoryError", words, node)
        if isinstance(error, MalapropError):
            return cls(type(error).__name__, plain(error), node)
        return cls("VictimError", f"{what}: {plain(error)[:300]}", node)

    def error(self) -> MalapropError:
        kind: type[MalapropError] = getattr(errors, self.kind, VictimError)
        return kind(f"{self.words} (on {self.node})" if self.node else self.words)


class ThisProcess:
    """One worker in the driver's own process; each piece is written at once, and Ctrl-C ends the run."""

    many = 1
    whole = True

    def __init__(self, place: Place, budget: Budget | None = None) -> None:
        self.context = WorkerContext(place)
        if budget is not None:
            self.context.charge_through(budget.draw)
        self._job: Job | None = None
        self._pieces: Iterator[Any] = iter(())

    def __enter__(self) -> ThisProcess:
        return self

    def __exit__(self, *what: object) -> None: ...

    @property
    def idle(self) -> bool:
        return self._job is None

    def pick(self, ready: Sequence[Task]) -> Task | None:
        return ready[0] if self._job is None else None

    def forward_notes(self, listen: Callable[[str, str], None]) -> None:
        """Send notes to `listen` at once instead of with the next piece, which may take long."""
        self.context.tell = lambda text: listen("" if self._job is None else self._job.task.name, text)

    def start(self, job: Job, inputs: Inputs, before: Any) -> None:
        self.context.begin(job.task, before)
        self._job, self._pieces = job, perform(job.task, self.context, inputs, job.share)

    def events(self) -> Iterator[Event]:
        assert self._job is not None, "there are events only while a job runs"
        number = self._job.number
        try:
            yield Event(number, "pieces", [next(self._pieces)])
        except StopIteration:
            self._job = None
            yield Event(number, "end")
        except Exception as error:  # noqa: BLE001 - it fails its task; the others are done
            self._job = None
            yield Event(number, "failed", error)
