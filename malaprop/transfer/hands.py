"""Who does the tasks: this process, or several of them on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from malaprop.core import errors
from malaprop.core.errors import SettingError, VictimError, plain
from malaprop.runs.cluster.order import Failure
from malaprop.runs.cluster.worker import failure
from malaprop.transfer.shelf import Place, Shelf
from malaprop.transfer.tasks import Task

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_PRELOAD = (  # what every process would import for seconds
    "torch._dynamo",
    "malaprop.transfer.tasks",
    "malaprop.models.victims.zoo",
    "malaprop.models.victims.hf",
    "transformers.models.bert.modeling_bert",
)
_DEATHS = 2  # processes that a task may kill before it is given up


class Hands(Protocol):
    """Used inside `with`."""

    @property
    def many(self) -> int:
        """How many tasks are done at a time."""

    def all(self, tasks: Sequence[Task], shared: Any = None) -> Iterator[tuple[int, Any]]:
        """(number of the task, piece) as they come, until all tasks are done. An error ends them all."""

    def __enter__(self) -> Hands: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Here:
    """Everything in this process, one task after the other."""

    many = 1

    def __init__(self, place: Place) -> None:
        self.shelf = Shelf(place)

    def all(self, tasks: Sequence[Task], shared: Any = None) -> Iterator[tuple[int, Any]]:
        for number, task in enumerate(tasks):
            for piece in task.pieces(self.shelf, shared):
                yield number, piece

    def __enter__(self) -> Here:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(slots=True, eq=False)
class _Hand:
    """One process, what it holds, and what it is doing."""

    process: BaseProcess
    line: Connection
    held: set[str] = field(default_factory=set)
    task: int | None = None
    given: int = 0  # which shared value it has


class Processes:
    """Several processes, each with a shelf of its own; what one holds is asked of it again where that can be."""

    def __init__(self, jobs: int, place: Place) -> None:
        self.many = jobs
        self.place = replace(place, threads=max(1, (os.cpu_count() or 1) // jobs), sharing=jobs)
        self._hands: list[_Hand] = []
        self._shared = 0
        # a process forked behind an import that has touched the GPU could not use it
        quick = place.device == "cpu" and "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if quick else "spawn")
        if quick:
            self._context.set_forkserver_preload(list(_PRELOAD))

    def __enter__(self) -> Processes:
        self._hands = [self._start() for _ in range(self.many)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hand in self._hands:
            hand.line.close()
            if kind is not None:
                hand.process.terminate()
            hand.process.join()

    def _start(self) -> _Hand:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs, self.place), daemon=True)
        process.start()
        theirs.close()
        return _Hand(process, ours)

    def all(self, tasks: Sequence[Task], shared: Any = None) -> Iterator[tuple[int, Any]]:
        self._shared += 1
        waiting, deaths = deque(range(len(tasks))), dict.fromkeys(range(len(tasks)), 0)
        while waiting or any(hand.task is not None for hand in self._hands):
            for hand in self._hands:
                if waiting and hand.task is None:
                    self._hand_over(hand, _pick(waiting, tasks, hand, self._hands), tasks, shared)
            busy = {hand.line: hand for hand in self._hands if hand.task is not None}
            for line in wait(list(busy)):
                hand = busy[line]  # type: ignore[index]
                number = hand.task
                assert number is not None
                try:
                    kind, value = hand.line.recv()
                except (EOFError, OSError):
                    deaths[number] += 1
                    self._replace(hand, tasks[number], deaths[number])
                    waiting.appendleft(number)
                    continue
                if kind == "failed":
                    raise raised(value)
                if kind == "done":
                    hand.task = None
                else:
                    yield number, value

    def _hand_over(self, hand: _Hand, number: int, tasks: Sequence[Task], shared: Any) -> None:
        try:
            if hand.given != self._shared:
                hand.line.send(("shared", shared))
                hand.given = self._shared
            hand.line.send(("task", tasks[number]))
        except (BrokenPipeError, ConnectionError):
            pass  # it died while idle: found out when it is listened to
        except Exception as error:  # noqa: BLE001 - an object's own way of being sent may raise anything
            raise SettingError(
                f"{', '.join(tasks[number].parts)} cannot be sent to another process: {plain(error)[:200]}; "
                "give folders or names, or use one job"
            ) from None
        hand.task = number
        hand.held.update(tasks[number].parts)

    def _replace(self, hand: _Hand, task: Task, deaths: int) -> None:
        hand.process.join()
        code = hand.process.exitcode
        if deaths > _DEATHS:
            raise VictimError(
                f"{', '.join(task.parts)}: its process ended {deaths} times (exit code {code}); what is finished is "
                "kept; use fewer --jobs if memory was short"
            )
        hand.line.close()
        fresh = self._start()
        hand.process, hand.line, hand.held, hand.task, hand.given = fresh.process, fresh.line, set(), None, 0


def _pick(waiting: deque[int], tasks: Sequence[Task], hand: _Hand, hands: Sequence[_Hand]) -> int:
    """The first task whose victims this process holds; else the first whose victims nobody holds; else the first."""
    elsewhere = set().union(*(other.held for other in hands if other is not hand))
    own = (number for number in waiting if hand.held.issuperset(tasks[number].parts))
    free = (number for number in waiting if elsewhere.isdisjoint(tasks[number].parts))
    chosen = next(own, next(free, waiting[0]))
    waiting.remove(chosen)
    return chosen


def serve(line: Connection, place: Place) -> None:
    """The life of one process: tasks come, pieces go. Ctrl-C is for the parent, which ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    place.settle()
    if place.threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(place.threads)
    shelf, shared = Shelf(place), None
    while True:
        try:
            kind, value = line.recv()
        except EOFError:
            return
        if kind == "shared":
            shared = value
            continue
        try:
            for piece in value.pieces(shelf, shared):
                line.send(("piece", piece))
            line.send(("done", None))
        except BrokenPipeError:
            return
        except Exception as error:  # noqa: BLE001 - told to the parent, whatever it is
            line.send(("failed", failure(error, ", ".join(value.parts))))


def raised(said: Failure) -> errors.MalapropError:
    """The error that a process of this machine has met."""
    kind: type[errors.MalapropError] = getattr(errors, said.kind, VictimError)
    return kind(said.words)
