"""Spending: what a run may ask of its victims. A group of settings for every study that attacks, and its ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from malaprop.core.errors import SettingError
from malaprop.core.spending import Ledger, Limits
from malaprop.studies.settings import opt

if TYPE_CHECKING:
    from malaprop.records.spending import SpendingRecord

_EVERY = 1.0  # seconds between two records of what is spent ...
_GROWTH = 1.05  # ... unless it has grown by so much: a round may take minutes, and a kill come meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
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

    def open_ledger(self, root: Path) -> Ledger | None:
        """The ledger of a run, with what earlier attempts in its folder have spent; None where nothing is counted."""
        from malaprop.records.spending import SpendingRecord

        before = SpendingRecord.read(root)
        if before is None:
            return None if self.limits == Limits() else Ledger(limits=self.limits)
        return Ledger(limits=self.limits, spent=before.meter, seconds=before.seconds, ended=before.examples)


@dataclass(slots=True)
class Bookkeeper:
    """Writes what is spent beside the results while a study runs: a kill loses at most the last 5% of the count."""

    ledger: Ledger
    root: Path
    last: float = 0.0
    known: int = 0  # queries that were written down last

    def __call__(self) -> None:
        if monotonic() - self.last >= _EVERY or self.ledger.spent.queries > _GROWTH * self.known:
            self.write("running")

    def write(self, state: str) -> SpendingRecord:
        from malaprop.records.spending import SpendingRecord

        record = SpendingRecord.of(self.ledger, state)
        record.write(self.root)
        self.last, self.known = monotonic(), record.queries
        return record
