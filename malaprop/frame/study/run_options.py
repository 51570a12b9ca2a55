"""Options of a study: its device, processes and machines, its folder and what is printed, and what it may spend.

Every study holds `RunOptions` and `OutputOptions`; one that asks victims holds `BudgetOptions` as well. None of
them changes a result, so all of them are `free`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

from malaprop.core.budget import Budget, Limits
from malaprop.core.errors import SettingError
from malaprop.frame.study.settings import opt

if TYPE_CHECKING:
    from malaprop.frame.records.spending import SpendingRecord
    from malaprop.frame.tasks.workers.job import Workers


ENGINES = ("local", "ray")
TRACKERS = ("mlflow", "wandb", "tensorboard")


def width_option(default: int = 256) -> int:
    """Return the setting `width`, the number of attacks side by side, for studies that run attacks."""
    made: int = opt(default, min=1, free=True)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Where tasks run: device, precision, processes, and this machine or a Ray cluster."""

    device: str = opt("auto", free=True)
    precision: str = opt("auto", free=True)
    jobs: int | None = opt(None, min=1, free=True, old=("workers",))
    engine: str = opt("local", choices=ENGINES, free=True)
    address: str | None = opt(None, free=True)

    @property
    def many(self) -> int:
        """The approximate number of tasks at a time; eight on a cluster, whose size is not known yet."""
        return self.jobs or (8 if self.engine == "ray" else 1)

    @property
    def is_cpu(self) -> bool:
        """Whether this machine uses no GPU; studies then train smaller models by default."""
        from malaprop.frame.runs.victims import device_of

        return device_of(self.device) == "cpu"

    def check(self) -> None:
        """Raise SettingError for options that exclude each other."""
        if self.engine != "ray" and self.address is not None:
            raise SettingError("--address is for --engine ray; use --jobs for processes of this machine")

    @contextmanager
    def open_workers(
        self, root: Path, *, quiet: bool = True, budget: Budget | None = None, labels: Sequence[str] = ()
    ) -> Iterator[Workers]:
        """Open the workers: this process, several processes or a cluster's actors. They charge queries to the budget.

        `labels` names the labels of victims that name none.
        """
        from malaprop.frame.tasks.worker_context import Place

        self.check()
        many = self.jobs
        limits = None if budget is None else budget.limits
        place = Place(
            root=root.absolute(), device=self.device, precision=self.precision, quiet=quiet, limits=limits,
            labels=tuple(labels),
        )  # fmt: skip
        if self.engine == "ray":
            from malaprop.frame.tasks.workers.ray_cluster import RayCluster
            from malaprop.frame.tasks.workers.ray_session import join

            with join(self.address, workers=many) as session:
                yield RayCluster(session, place, workers=many, budget=budget)
            return
        from malaprop.frame.runs.victims import device_of

        place = replace(place, device=device_of(self.device))
        if many is None or many == 1:
            from malaprop.frame.tasks.workers.job import ThisProcess

            yield ThisProcess(place, budget)
        else:
            from malaprop.frame.tasks.workers.processes import Processes

            yield Processes(many, place, budget=budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where a study's files go, and what is printed."""

    out: Path | None = opt(
        None,
        "Output folder, made if it is missing. The same folder with the same settings resumes an interrupted run.",
        free=True,
    )
    resume: bool = opt(False, "Has no effect: every command resumes what is in its --out.", free=True, hidden=True)
    json: bool = opt(False, free=True)
    quiet: bool = opt(False, free=True)
    track: tuple[str, ...] = opt((), choices=TRACKERS, free=True)


# --- spending

_SHARE = 40  # a pause of so many times the last writing time follows, so an attack is slowed by at most 2.5%
_LONGEST = 0.005  # seconds that a charge may wait to be written, however busy the machine is


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """Limits on the whole run, all workers and attempts together; a folder can be resumed under higher ones."""

    max_queries: int | None = opt(None, min=1, free=True)
    max_tokens: int | None = opt(None, min=1, free=True)
    max_cost: float | None = opt(None, min=0, free=True)
    max_minutes: float | None = opt(None, min=0, free=True)
    price_in: float = opt(0.0, min=0, free=True)
    price_out: float = opt(0.0, min=0, free=True)
    dry_run: bool = opt(False, free=True)

    def check(self) -> None:
        """Raise SettingError for limits that cannot be enforced."""
        for name, value in (("--max-cost", self.max_cost), ("--max-minutes", self.max_minutes)):
            if value is not None and not value > 0:
                raise SettingError(f"{name} must be more than 0, got {value:g}")
        if self.max_cost is not None and not self.limits.priced:
            raise SettingError("--max-cost needs a price; give --price-in or --price-out, for a million tokens")

    @property
    def limits(self) -> Limits:
        return Limits(
            queries=self.max_queries, tokens=self.max_tokens, cost=self.max_cost, minutes=self.max_minutes,
            price_in=self.price_in, price_out=self.price_out,
        )  # fmt: skip

    def open_budget(self, root: Path) -> Budget | None:
        """Return the budget of a run, with what earlier attempts in its folder spent; None if nothing is counted."""
        from malaprop.frame.records.spending import SpendingRecord

        before = SpendingRecord.read(root)
        if before is None:
            return None if self.limits == Limits() else Budget(limits=self.limits)
        return Budget(limits=self.limits, spent=before.meter, seconds=before.seconds, ended=before.examples)


class SpendingWriter:
    """Writes what is spent to spending.json while a study runs, so that a kill loses at most the charges in flight.

    A charge is written before it is answered. If another was written just before, a thread writes it a few milliseconds
    later, together with those that came in between. Inside `with` the file is overwritten in place by one system call,
    which a kill does not interrupt: a new file each time would take a hundred times as long.
    """

    def __init__(self, budget: Budget, root: Path) -> None:
        self.budget, self.root = budget, root
        self._lock, self._late, self._ended = Lock(), Event(), False
        self._next = 0.0  # the file is not written again before this time
        self._known: object = None  # the counts that were written last
        self._thread: Thread | None = None
        self._file = -1
        self._size = 0  # of the file, which never shrinks

    def __call__(self) -> None:
        """Note that the budget was charged: write it now or shortly."""
        if monotonic() >= self._next:
            self._update()
        else:
            self._late.set()

    def __enter__(self) -> SpendingWriter:
        from malaprop.frame.records.kinds import kind_of
        from malaprop.frame.records.spending import SpendingRecord

        self.write("running")
        self._file = os.open(self.root / kind_of(SpendingRecord).file, os.O_WRONLY)
        self.budget.tell = self
        self._thread = Thread(target=self._write_late, name="spending", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *what: object) -> None:
        """Write the last charges, however the study ends."""
        assert self._thread is not None, "entered before"
        self._ended = True
        self._late.set()
        self._thread.join()
        self.budget.tell = None
        os.close(self._file)
        self.write("running")

    def _write_late(self) -> None:
        while not self._ended:
            self._late.wait()
            self._late.clear()  # before writing: a charge that comes now sets it again
            sleep(max(0.0, self._next - monotonic()))
            self._update()

    def _update(self) -> None:
        spent = self.budget.spent
        if (spent.queries, spent.tokens_in, spent.tokens_out) != self._known:
            self._overwrite()

    def _overwrite(self) -> None:
        from malaprop.frame.records.spending import SpendingRecord

        with self._lock:
            began = monotonic()
            record = SpendingRecord.of(self.budget, "running")
            text = record.as_file()[1].encode()
            self._size = max(self._size, len(text))
            os.pwrite(self._file, text.ljust(self._size, b"\n"), 0)
            self._known = record.queries, record.tokens_in, record.tokens_out
            self._next = monotonic() + min(_LONGEST, _SHARE * (monotonic() - began))

    def write(self, state: str) -> SpendingRecord:
        """Write spending.json atomically with this state, and return the record."""
        from malaprop.frame.records.spending import SpendingRecord

        record = SpendingRecord.of(self.budget, state)
        self._size = record.write(self.root).stat().st_size
        return record
