"""Processes: several on this machine do the tasks, each with a desk of its own and its share of a GPU."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from malaprop.core.budget import Budget, BudgetState, Charge
from malaprop.core.errors import SettingError, plain
from malaprop.frame.tasks.outputs import Note
from malaprop.frame.tasks.task import Inputs, Share, Task
from malaprop.frame.tasks.worker_context import Place, WorkerContext
from malaprop.frame.tasks.workers import leash
from malaprop.frame.tasks.workers.job import Event, Job, RemoteError, batches, choose, perform

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

PRELOAD = (  # what every process would import for seconds
    "torch._dynamo",
    "malaprop.frame.runs.local",
    "malaprop.zoo.victim",
    "malaprop.models.victims.hf",
    "transformers.models.bert.modeling_bert",
)


def share_threads(jobs: int) -> int:
    """Threads of one of several processes: its share of the cores, and no more than the user has said."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(max(1, (os.cpu_count() or 1) // jobs), int(asked) if asked.isdecimal() and int(asked) else 1 << 16)


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """A process that is started within never hears Ctrl-C, not even while it imports; the driver hears it behind."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # or a process that is started would start it, which lets signals in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(slots=True, eq=False)
class _Hand:
    """One process, what it holds, and what it is doing."""

    process: BaseProcess
    line: Connection
    held: set[str] = field(default_factory=set)
    task: str = ""  # whose inputs it has
    job: int | None = None


class Processes:
    """A task goes to a process that holds its models, if one is free."""

    whole = False

    def __init__(
        self, jobs: int, place: Place, *, ledger: Budget | None = None, preload: Sequence[str] = PRELOAD
    ) -> None:
        self.many, self.ledger = jobs, ledger
        self.place = replace(place, threads=share_threads(jobs), sharing=jobs)
        self._hands: list[_Hand] = []
        self._next: _Hand | None = None
        # a process forked behind an import that has touched the GPU could not use it
        quick = place.device == "cpu" and "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if quick else "spawn")
        if quick:
            self._context.set_forkserver_preload([leash.__name__, *preload])
            self._start_server()

    def _start_server(self) -> None:
        """Starts what forks the processes, unless it runs; bound to this thread's life where that is the driver's."""
        if threading.current_thread() is threading.main_thread():
            os.environ[leash.PARENT] = str(os.getpid())
        try:
            with hold_interrupts():
                forkserver.ensure_running()
        finally:
            os.environ.pop(leash.PARENT, None)

    def __enter__(self) -> Processes:
        self._hands = [self._begin() for _ in range(self.many)]
        return self

    def __exit__(self, *what: object) -> None:
        for hand in self._hands:
            hand.line.close()
            if what[0] is not None:
                hand.process.terminate()
        for hand in self._hands:
            hand.process.join()

    def _begin(self) -> _Hand:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self.place, dict(os.environ)), daemon=True)
        if self._context.get_start_method() == "spawn":
            with hold_interrupts():
                process.start()
        else:
            process.start()  # waits for the server's imports, which Ctrl-C may cut short
        theirs.close()
        return _Hand(process, ours)

    @property
    def idle(self) -> bool:
        return any(hand.job is None for hand in self._hands)

    def pick(self, ready: Sequence[Task]) -> Task | None:
        free = [hand for hand in self._hands if hand.job is None]
        if not free:
            return None
        for hand in free:  # whoever has what one of the tasks needs
            task = choose(ready, hand.held, self._elsewhere(hand))
            if task.holds and hand.held.issuperset(task.holds):
                self._next = hand
                return task
        self._next = free[0]
        return choose(ready, free[0].held, self._elsewhere(free[0]))

    def _elsewhere(self, hand: _Hand) -> set[str]:
        return set().union(*(other.held for other in self._hands if other is not hand))

    def start(self, job: Job, inputs: Inputs, before: Any) -> None:
        hand = self._next
        assert hand is not None, "pick comes first"
        try:
            if hand.task != job.task.name:
                hand.line.send(("task", (job.task, inputs, before)))
                hand.task = job.task.name
            hand.line.send(("job", job.share))
        except (BrokenPipeError, ConnectionError):
            pass  # it died while idle: heard below
        except Exception as error:  # noqa: BLE001 - an object's own way of being sent may raise anything
            raise SettingError(
                f"{job.task.name} cannot be sent to another process: {plain(error)[:200]}; give folders or names, or "
                "use one job"
            ) from None
        hand.job = job.number
        hand.held.update(job.task.holds)

    def events(self) -> Iterator[Event]:
        busy = {hand.line: hand for hand in self._hands if hand.job is not None}
        for line in wait(list(busy)):
            hand = busy[line]  # type: ignore[index]
            assert hand.job is not None
            try:
                kind, value = hand.line.recv()
            except (EOFError, OSError):
                yield Event(hand.job, "lost", self._replace(hand))
                continue
            job = hand.job
            if kind == "bill":
                assert self.ledger is not None, "who sends bills was told of limits"
                hand.line.send(self.ledger.draw(value))
                continue
            if kind != "pieces":
                hand.job = None
            yield Event(job, kind, value.error() if kind == "failed" else value)

    def _replace(self, hand: _Hand) -> str:
        """Puts a new process in the place of one that died; gives the reason."""
        hand.process.join()
        hand.line.close()
        code = hand.process.exitcode
        self._hands[self._hands.index(hand)] = self._begin()
        return f"exit code {code}" if code is None or code >= 0 else f"killed by signal {-code}"


def _serve(line: Connection, place: Place, environment: Mapping[str, str]) -> None:
    """The life of one process: jobs come, pieces go. Ctrl-C is for the driver, which ends it.

    A server forks it that may have begun long before: the environment is the driver's of now.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leash.end_with_driver()
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_the_driver, daemon=True).start()
    place.settle()
    desk = WorkerContext(place)
    desk.tell = lambda text: _send(line, "pieces", [Note(text)])
    desk.pay_by(partial(_pay, line))
    given: tuple[Task, Inputs, Any] | None = None
    try:
        while True:
            kind, value = line.recv()
            if kind == "task":
                given = value
            else:
                assert given is not None, "a job comes behind its task"
                _work(line, desk, *given, value)
    except (EOFError, OSError, _DriverGoneError):
        return


class _DriverGoneError(Exception):
    """Nobody hears this process any more."""


def _work(line: Connection, desk: WorkerContext, task: Task, inputs: Inputs, before: Any, share: Share | None) -> None:
    trouble = None
    try:
        desk.sit(task, before)
        for pieces in batches(perform(task, desk, inputs, share)):
            _send(line, "pieces", pieces)
    except _DriverGoneError:
        raise
    except Exception as error:  # noqa: BLE001 - told to the driver, whatever it is
        trouble = RemoteError.of(error, task.name)
    desk.give_memory_back()  # not before the error is let go, which holds what its frames held
    if trouble is None:
        _send(line, "end")
    else:
        _send(line, "failed", trouble)


def _pay(line: Connection, bill: Charge) -> BudgetState:
    """Asks the driver, which says nothing else while a job runs."""
    _send(line, "bill", bill)
    standing: BudgetState = line.recv()
    return standing


def _send(line: Connection, kind: str, value: Any = None) -> None:
    try:
        line.send((kind, value))
    except OSError:
        raise _DriverGoneError from None


def _end_with_the_driver() -> None:
    """A driver that is killed leaves no worker behind, which would write on in a folder that another takes up."""
    if (driver := multiprocessing.parent_process()) is not None:
        driver.join()
        os._exit(1)
