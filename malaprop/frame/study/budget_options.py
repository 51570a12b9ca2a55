"""Spending: what a run may ask of its victims. A group of settings for every study that attacks, and its ledger."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

from malaprop.core.budget import Budget, Limits
from malaprop.core.errors import SettingError
from malaprop.frame.study.settings import opt

if TYPE_CHECKING:
    from malaprop.frame.records.spending import SpendingRecord

_SHARE = 40  # times as long as the file took to write it is left alone: an attack is slowed down by 2.5% at most
_LONGEST = 0.005  # seconds that a bill may wait, however busy the machine is


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """Limits over the whole run, all workers and attempts together; a folder is resumed under higher ones."""

    max_queries: int | None = opt(None, min=1, free=True)
    max_tokens: int | None = opt(None, min=1, free=True)
    max_cost: float | None = opt(None, min=0, free=True)
    max_minutes: float | None = opt(None, min=0, free=True)
    price_in: float = opt(0.0, min=0, free=True)
    price_out: float = opt(0.0, min=0, free=True)
    dry_run: bool = opt(False, free=True)

    def check(self) -> None:
        """Raises for limits that cannot be kept."""
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

    def open_ledger(self, root: Path) -> Budget | None:
        """The ledger of a run, with what earlier attempts in its folder have spent; None where nothing is counted."""
        from malaprop.frame.records.spending import SpendingRecord

        before = SpendingRecord.read(root)
        if before is None:
            return None if self.limits == Limits() else Budget(limits=self.limits)
        return Budget(limits=self.limits, spent=before.meter, seconds=before.seconds, ended=before.examples)


class Bookkeeper:
    """Writes what is spent beside the results while a study runs, so that a kill loses no more than is on its way.

    A bill is written before it is answered, unless the last one was written just before: then a thread writes it a few
    milliseconds later, together with those that came meanwhile. Inside the block the file is overwritten in place, by
    one call of the system, which a kill does not cut: a new file each time would take a hundred times as long.
    """

    def __init__(self, ledger: Budget, root: Path) -> None:
        self.ledger, self.root = ledger, root
        self._lock, self._late, self._ended = Lock(), Event(), False
        self._next = 0.0  # when the file may be written again
        self._known: object = None  # what was written last
        self._thread: Thread | None = None
        self._file = -1
        self._size = 0  # of the file, which never shrinks

    def __call__(self) -> None:
        """Something was drawn or settled."""
        if monotonic() >= self._next:
            self._update()
        else:
            self._late.set()

    def __enter__(self) -> Bookkeeper:
        from malaprop.frame.records.kinds import kind_of
        from malaprop.frame.records.spending import SpendingRecord

        self.write("running")
        self._file = os.open(self.root / kind_of(SpendingRecord).file, os.O_WRONLY)
        self.ledger.tell = self
        self._thread = Thread(target=self._write_late, name="spending", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *what: object) -> None:
        """The last bills are written, however the study ends."""
        assert self._thread is not None, "entered before"
        self._ended = True
        self._late.set()
        self._thread.join()
        self.ledger.tell = None
        os.close(self._file)
        self.write("running")

    def _write_late(self) -> None:
        while not self._ended:
            self._late.wait()
            self._late.clear()  # at once: what is drawn from now on sets it again
            sleep(max(0.0, self._next - monotonic()))
            self._update()

    def _update(self) -> None:
        spent = self.ledger.spent
        if (spent.queries, spent.tokens_in, spent.tokens_out) != self._known:
            self._overwrite()

    def _overwrite(self) -> None:
        from malaprop.frame.records.spending import SpendingRecord

        with self._lock:
            began = monotonic()
            record = SpendingRecord.of(self.ledger, "running")
            text = record.as_file()[1].encode()
            self._size = max(self._size, len(text))
            os.pwrite(self._file, text.ljust(self._size, b"\n"), 0)
            self._known = record.queries, record.tokens_in, record.tokens_out
            self._next = monotonic() + min(_LONGEST, _SHARE * (monotonic() - began))

    def write(self, state: str) -> SpendingRecord:
        """A new file, which whoever reads it finds whole."""
        from malaprop.frame.records.spending import SpendingRecord

        record = SpendingRecord.of(self.ledger, state)
        self._size = record.write(self.root).stat().st_size
        return record
