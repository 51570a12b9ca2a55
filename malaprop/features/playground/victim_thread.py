"""Desk: one victim's engine loop in a thread of its own. What all clients ask of the victim is pooled there."""

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
from malaprop.features.playground.error_messages import BusyError, ShownError, StoppedError, describe_error
from malaprop.frame.runs.services import services as make_services

_shared = Lock()  # the tagger and the encoder serve every victim of the process


class LockedService:
    """A service whose errors are clear words, so that none of them ends the work of other clients."""

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
    """The service that scores for this victim, which keeps the counts, and all services as an engine may ask them."""
    known = make_services(victim)
    own = ("victim", "verify")
    made = {key: LockedService(service, name, None if key in own else _shared) for key, service in known.items()}
    return known["victim"], made


T = TypeVar("T")
_advancing = Lock()  # lexicons and tables are read by the attacks of every desk; models work outside of it
Make = Callable[[Words, int], Steps[T]]
WIDTH = 32  # jobs that advance side by side
QUEUE = 64  # jobs that wait for their turn
LAST = 3.0  # seconds that a desk has to end its work when it is closed
RENEW = 256  # jobs that share a table of words: then those in flight end, and a new one begins


@dataclass(frozen=True, slots=True, eq=False)
class VictimThreadJob(Generic[T]):
    """Work for a desk: `make` is called in its thread. The result comes with what it cost the victim."""

    make: Make[T]
    future: Future[tuple[T, Tally]] = field(default_factory=Future)
    stop: Event = field(default_factory=Event)

    def steps(self, table: Words, owner: int) -> Steps[T | Exception]:
        """The work, ended between two asks once nobody wants it, with an error as its result whatever it raises."""
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
        except Exception as error:  # noqa: BLE001 - one client's bad luck must not be the others'
            return error

    def end(self, result: T | Exception, tally: Tally) -> None:
        if self.future.done() or not self.future.set_running_or_notify_cancel():
            return  # nobody waits for it any more
        if isinstance(result, Exception):
            self.future.set_exception(result)
        else:
            self.future.set_result((result, tally))


class VictimThread:
    """A victim and the thread that asks it. `name` is what pages call it."""

    def __init__(self, victim: Victim, name: str) -> None:
        self.victim, self.name = victim, name
        self._scoring, self._services = lock_services(victim, name)
        self._waiting: Queue[VictimThreadJob[Any] | None] = Queue(QUEUE)
        self._going: dict[int, VictimThreadJob[Any]] = {}
        self._thread = Thread(target=self._work, name=f"desk of {name}", daemon=True)
        self._thread.start()

    def submit(self, make: Make[T]) -> VictimThreadJob[T]:
        """Puts work in the queue; a full one is refused."""
        job: VictimThreadJob[T] = VictimThreadJob(make)
        try:
            self._waiting.put_nowait(job)
        except Full:
            raise BusyError(f"{self.name} has more to do than it can; please try again in a moment") from None
        return job

    def close(self) -> None:
        """Ends what is going on and the thread; for good."""
        for job in [*self._going.values()]:
            job.stop.set()
        with suppress(Full):  # a victim that never answers: its thread goes with the process
            self._waiting.put(None, timeout=LAST)
        self._thread.join(LAST)

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            try:
                self._drive(job)
            except Exception as error:  # noqa: BLE001 - the thread lives on, whatever became of these jobs
                words = ShownError(describe_error(error, self.name))
                for lost in (job, *self._going.values()):
                    lost.end(words, Tally())
            self._going.clear()

    def _drive(self, first: VictimThreadJob[Any]) -> None:
        """Serves this job and all that come while there is something in flight."""
        for owner, result in drive(_Intake(first, self._waiting, self._going), self._services, width=WIDTH):
            tally = self._scoring.tally(owner) if isinstance(self._scoring, Scoring) else Tally()
            self._going.pop(owner).end(result, tally)


class _Intake:
    """What an engine loop takes up between two rounds: it stops when nothing waits, and goes on when something does."""

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
        if job is None:  # the end, which the thread must hear of
            self.waiting.put(None)
        return job
