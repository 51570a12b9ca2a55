"""The record of malaprop check: each text's mark under each attack, compared with a baseline and with minimums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.paired_texts import CheckRow, MarkedRun, sign_test
from malaprop.frame.records.summary import Rate

SHOWN = 20  # texts that newly break, by attack


@dataclass(frozen=True, slots=True, kw_only=True)
class BarResult:
    """A minimum that the user set, and the rate that was measured for it."""

    name: str
    bound: float
    row: str  # victim and attack
    found: Rate

    @property
    def passed(self) -> bool:
        return self.found.total > 0 and self.found.value >= self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord(Record):
    """The result of a check: each text's mark under each attack, and whether the model passed.

    `settings` and `runs` make it a baseline for the next check; `digests` tell whether the texts are the same.
    """

    passed: bool
    max_drop: float
    alpha: float
    baseline: str
    rows: tuple[CheckRow, ...]
    bars: tuple[BarResult, ...] = ()
    complete: bool = True  # no: a spending limit ended the run before every text was attacked, and nothing passes
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[MarkedRun, ...] = ()

    def failures(self) -> list[str]:
        """Return a line for each reason why the check did not pass."""
        worse = [
            f"{row.victim}, {row.attack}: {_points(row.before)} at the baseline, {_points(row.now)} now; "
            f"{row.lost} texts newly break, {row.won} newly hold (p = {row.p:.2g})"
            for row in self.rows
            if row.worse
        ]
        short = [
            f"{bar.row}: {bar.name} {_points(bar.found)}, below {bar.bound:g}" for bar in self.bars if not bar.passed
        ]
        part = [] if self.complete else ["not every text was attacked: a spending limit ended the run; raise it"]
        return worse + short + part


def _points(rate: Rate | None) -> str:
    if rate is None or not rate.total:
        return "n/a"
    return f"{100 * rate.value:.1f}% ({rate.hits}/{rate.total})" if rate.shown else str(rate)


def smallest_drop(texts: int, rows: int, *, max_drop: float, alpha: float) -> float:
    """Return the smallest drop that the test detects if every changed text is lost and no other row drops."""
    lost = 1
    while lost <= texts and (sign_test(lost, 0) >= alpha / max(1, rows) or lost / texts <= max_drop):
        lost += 1
    return lost / texts if texts else 1.0
