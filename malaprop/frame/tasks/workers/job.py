"""Job: a task, or a share of its items, given to one worker; and what workers say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from malaprop.core import errors
from malaprop.core.errors import LimitReached, MalapropError, VictimError, plain, short_of_memory
from malaprop.frame.tasks.outputs import Note, Stopped
from malaprop.frame.tasks.shares import Portion
from malaprop.frame.tasks.task import Inputs, Share, Task
from malaprop.frame.tasks.worker_context import WorkerContext

EVERY = 0.25  # seconds after which finished pieces are sent; what a lost worker had not sent is done again


class Job(NamedTuple):
    """What one worker does. `portion` is the driver's own list of the items that are not done yet."""

    number: int
    task: Task
    share: Share | None = None
    portion: Portion | None = None


class Event(NamedTuple):
    """What is heard of a job: `pieces` (a list), its `end`, that it `failed` (an exception), or was `lost` (why)."""

    job: int
    kind: str
    value: Any = None


class Workers(Protocol):
    """Used inside `with`; leaving it on an error ends what runs."""

    many: int  # jobs done at a time
    whole: bool  # a task is given to one of them with all its items

    @property
    def idle(self) -> bool:
        """Whether somebody is free."""

    def pick(self, ready: Sequence[Task]) -> Task | None:
        """The task of which something should be started now; None where nobody is free."""

    def start(self, job: Job, inputs: Inputs, before: Any) -> None:
        """Begins a job of the task that was picked last; raises where it cannot be sent."""

    def events(self) -> Iterable[Event]:
        """Waits until somebody speaks, and gives what was said."""

    def __enter__(self) -> Workers: ...

    def __exit__(self, *what: object) -> None: ...


def perform(task: Task, desk: WorkerContext, inputs: Inputs, share: Share | None) -> Iterator[Any]:
    """The pieces of a job, wherever it runs; the last is `Stopped` where a spending limit ended it."""
    try:
        for piece in task.work(desk, inputs) if task.items is None else task.work(desk, inputs, share):
            yield from map(Note, desk.take_notes())
            yield piece
    except LimitReached as reached:
        yield Stopped(plain(reached))
    yield from map(Note, desk.take_notes())
    if desk.purse is not None:
        desk.purse.close()


def batches(pieces: Iterable[Any]) -> Iterator[list[Any]]:
    """Pieces in small lists, the first at once: it says what is written, and lines that follow need it."""
    ready: list[Any] = []
    sent = float("-inf")
    for piece in pieces:
        ready.append(piece)
        if perf_counter() - sent > EVERY:
            yield ready
            ready, sent = [], perf_counter()
    if ready:
        yield ready


def choose(ready: Sequence[Task], held: set[str], elsewhere: set[str]) -> Task:
    """The first task whose models this worker holds; else the first whose models nobody holds; else the first.

    A free worker takes what another holds rather than wait.
    """
    own = (task for task in ready if task.holds and held.issuperset(task.holds))
    free = (task for task in ready if elsewhere.isdisjoint(task.holds))
    return next(own, next(free, ready[0]))


@dataclass(frozen=True, slots=True)
class RemoteError:
    """The kind of an error by its name, and its words; `node` is the machine, where it is another one."""

    kind: str
    words: str
    node: str = ""

    @classmethod
    def of(cls, error: BaseException, what: str, node: str = "") -> RemoteError:
        """An error in words that can travel."""
        if short_of_memory(error):
            words = f"{what}: no memory for it ({plain(error)[:200]}); use fewer workers a machine, or larger machines"
            return cls("NoMemoryError", words, node)
        if isinstance(error, MalapropError):
            return cls(type(error).__name__, plain(error), node)
        return cls("VictimError", f"{what}: {plain(error)[:300]}", node)

    def error(self) -> MalapropError:
        kind: type[MalapropError] = getattr(errors, self.kind, VictimError)
        return kind(f"{self.words} (on {self.node})" if self.node else self.words)
