"""The worker that is this process: it does tasks one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from malaprop.core.budget import Budget
from malaprop.frame.tasks.task import Inputs, Task
from malaprop.frame.tasks.worker_context import Place, WorkerContext
from malaprop.frame.tasks.workers.job import Event, Job, perform


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
