"""Runs each victim's engine loop in its own thread, where the queries of all clients share batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

from malaprop.core.ask import ServiceFailed, Steps
from malaprop.core.text import Words
from malaprop.core.victim import Victim
from malaprop.engine.drive import drive
from malaprop.engine.service import Scoring, Service, Tally
from malaprop.features.playground.input_checks import BusyError, ShownError, StoppedError, describe_error
from malaprop.frame.runs.services import services as make_services

_shared = Lock()  # the tagger and the encoder serve every victim of the process


class LockedService:
    """A service for one thread at a time, whose errors are messages for the page and do not end other clients' jobs."""

    def __init__(self, service: Service, victim: str, lock: Lock | None) -> None:
        self.service, self.victim = service, victim
        self.lock: AbstractContextManager[object] = nullcontext() if lock is None else lock

    def begin(self, asks: Sequence[Sequence[Any]]) -> Any:
        try:
            with self.lock:
                return self.service.begin(asks)
        except Exception as error:  # noqa: BLE001 - a victim may raise anything
            raise ShownError(describe_error(error, self.victim)) from None

    def finish(self, pending: Any) -> list[list[Any]]:
        try:
            with self.lock:
                return self.service.finish(pending)
        except Exception as error:  # noqa: BLE001 - a victim may raise anything
            raise ShownError(describe_error(error, self.victim)) from None


def lock_services(victim: Victim, name: str) -> tuple[Service, Mapping[str, Service]]:
    """Return the service that scores for this victim and keeps its counts, and all services with their locks."""
    known = make_services(victim)
    own = ("victim", "verify")
    made = {key: LockedService(service, name, None if key in own else _shared) for key, service in known.items()}
    return known["victim"], made


T = TypeVar("T")
_advancing = Lock()  # attacks of all threads share lexicons and tables; models run outside this lock
Make = Callable[[Words, int], Steps[T]]
WIDTH = 32  # jobs that advance side by side
QUEUE = 64  # jobs that wait for their turn
LAST = 3.0  # seconds that a thread has to end its jobs when it is closed
RENEW = 256  # jobs that share a table of words; after these, running jobs end and a new table begins


@dataclass(frozen=True, slots=True, eq=False)
class VictimThreadJob(Generic[T]):
    """A job of a victim's thread, which calls `make`; the future gives the result with its queries."""

    make: Make[T]
    future: Future[tuple[T, Tally]] = field(default_factory=Future)
    stop: Event = field(default_factory=Event)

    def steps(self, table: Words, owner: int) -> Steps[T | Exception]:
        """Run the job until `stop` is set; an exception becomes its result."""
        inner = self.make(table, owner)
        reply: list[Any] | ServiceFailed | None = None
        try:
            while not self.stop.is_set():
                with _advancing:
                    ask = inner.throw(reply) if isinstance(reply, ServiceFailed) else inner.send(reply)  # type: ignore[arg-type]
                if self.stop.is_set():
                    break
                try:
                    reply = yield ask
                except ServiceFailed as failure:
                    reply = failure
            inner.close()
            return StoppedError("stopped")
        except StopIteration as done:
            found: T = done.value
            return found
        except ServiceFailed as failure:
            return ShownError(str(failure))
        except Exception as error:  # noqa: BLE001 - an error of one client's job must not end the others'
            return error

    def end(self, result: T | Exception, tally: Tally) -> None:
        """Set the future's result or exception, unless the client has left."""
        if self.future.done() or not self.future.set_running_or_notify_cancel():
            return  # nobody waits for it any more
        if isinstance(result, Exception):
            self.future.set_exception(result)
        else:
            self.future.set_result((result, tally))


class VictimThread:
    """A victim and the thread that queries it; `name` is its name on the page."""

    def __init__(self, victim: Victim, name: str) -> None:
        self.victim, self.name = victim, name
        self._scoring, self._services = lock_services(victim, name)
        self._waiting: Queue[VictimThreadJob[Any] | None] = Queue(QUEUE)
        self._going: dict[int, VictimThreadJob[Any]] = {}
        self._thread = Thread(target=self._work, name=f"victim {name}", daemon=True)
        self._thread.start()

    def submit(self, make: Make[T]) -> VictimThreadJob[T]:
        """Queue a job; raise BusyError if the queue is full."""
        job: VictimThreadJob[T] = VictimThreadJob(make)
        try:
            self._waiting.put_nowait(job)
        except Full:
            raise BusyError(f"{self.name} has too many requests; please try again in a moment") from None
        return job

    def close(self) -> None:
        """Stop the running jobs and end the thread."""
        for job in [*self._going.values()]:
            job.stop.set()
        with suppress(Full):  # a victim that never answers: its thread goes with the process
            self._waiting.put(None, timeout=LAST)
        self._thread.join(LAST)

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            try:
                self._drive(job)
            except Exception as error:  # noqa: BLE001 - the thread must survive whatever ended these jobs
                words = ShownError(describe_error(error, self.name))
                for lost in (job, *self._going.values()):
                    lost.end(words, Tally())
            self._going.clear()

    def _drive(self, first: VictimThreadJob[Any]) -> None:
        """Run this job, and all that arrive while any job is running."""
        for owner, result in drive(_Intake(first, self._waiting, self._going), self._services, width=WIDTH):
            tally = self._scoring.tally(owner) if isinstance(self._scoring, Scoring) else Tally()
            self._going.pop(owner).end(result, tally)


class _Intake:
    """Yields the waiting jobs to an engine loop between two batches; the loop may ask again after it was empty."""

    def __init__(
        self,
        first: VictimThreadJob[Any],
        waiting: Queue[VictimThreadJob[Any] | None],
        going: dict[int, VictimThreadJob[Any]],
    ) -> None:
        self.next: VictimThreadJob[Any] | None = first
        self.waiting, self.going = waiting, going
        self.table, self.owner = Words(), 0

    def __iter__(self) -> Iterator[tuple[int, Steps[Any]]]:
        return self

    def __next__(self) -> tuple[int, Steps[Any]]:
        job, self.next = self.next or self._waiting(), None
        if job is None:
            raise StopIteration
        owner, self.owner = self.owner, self.owner + 1
        self.going[owner] = job
        return owner, job.steps(self.table, owner)

    def _waiting(self) -> VictimThreadJob[Any] | None:
        if self.owner >= RENEW:
            return None
        try:
            job = self.waiting.get_nowait()
        except Empty:
            return None
        if job is None:  # the mark of closing, which the thread must see too
            self.waiting.put(None)
        return job
