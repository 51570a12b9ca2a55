"""Totals: outcomes added up one by one. What is kept grows with the distinct numbers, not with the outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum

from malaprop.core.reasons import ALL_PROTECTED, NO_WORDS, NOTHING_TO_CHANGE, TARGET_ALREADY
from malaprop.core.victim import NO_LABEL, REJECTED
from malaprop.frame.records.outcome import NAMES_NO_LABEL, REJECTS, STATUSES, Outcome
from malaprop.frame.records.summary import Rate, Spread, Summary

_APART = (
    ("failed", NOTHING_TO_CHANGE),
    ("failed", ALL_PROTECTED),
    ("failed", NO_WORDS),
    ("skipped", TARGET_ALREADY),
    ("skipped", NAMES_NO_LABEL),
    ("success", NAMES_NO_LABEL),
)


class Totals:
    """A summary under way: `add` each outcome, then read `summary()`, at any time."""

    def __init__(self, outcomes: Iterable[Outcome] = (), labels: Sequence[str] = ()) -> None:
        self.named = len(
            [name for name in labels if name not in (NO_LABEL, REJECTED)]
        )  # which a guess could be; 0: not known
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()  # by status: originals (skipped), and strongest attempts (failed)
        self.apart: Counter[str] = Counter()  # by the reasons that are counted beside the rates
        self.by: Counter[str] = Counter()  # successes by the recipe that broke the text, where several were tried
        self.truths: Counter[int] = Counter()
        self.width = 0  # labels that the victim scores
        self.seconds = 0.0
        self._numbers: dict[str, Counter[float]] = {}
        for outcome in outcomes:
            self.add(outcome)

    def add(self, outcome: Outcome) -> None:
        self.counts[outcome.status] += 1
        self.seconds += outcome.seconds
        if outcome.status != "error":
            self.truths[outcome.label] += 1
            self.width = max(self.width, len(outcome.original.scores))
        if (outcome.status, outcome.reason) in _APART:
            self.apart[outcome.reason or ""] += 1
        if outcome.reason == REJECTS:
            self.rejected[outcome.status] += 1
        if outcome.status == "error":
            self.reasons[outcome.reason or "no reason given"] += 1
        if outcome.status in ("success", "failed"):
            self._note("asked", outcome.queries.asked)
            self._note("unique", outcome.queries.unique)
            self._note("forwarded", outcome.queries.forwarded)
            for name, value in outcome.measures.items():
                self._note(f"measure {name}", value)
        if outcome.status == "success":
            self._note("to_break", outcome.queries.asked)
            self._note("changed_share", outcome.changed_share)
            self.by.update([outcome.by] if outcome.by else [])

    def _note(self, name: str, value: float) -> None:
        self._numbers.setdefault(name, Counter())[value] += 1

    def summary(self) -> Summary:
        broken, held, skipped = (self.counts[status] for status in ("success", "failed", "skipped"))
        spared, every = self.apart[TARGET_ALREADY], broken + held + skipped
        labels = min(self.width, self.named or self.width)
        measures = {name.removeprefix("measure "): name for name in self._numbers if name.startswith("measure ")}
        return Summary(
            counts={status: self.counts[status] for status in STATUSES},
            clean=Rate(broken + held + spared, every),
            under_attack=Rate(held + spared, every),
            success=Rate(broken, broken + held),
            asked=self._spread("asked"),
            unique=self._spread("unique"),
            forwarded=self._spread("forwarded"),
            to_break=self._spread("to_break"),
            changed_share=self._spread("changed_share"),
            seconds=round(self.seconds, 6),
            measures={short: self._spread(name) for short, name in measures.items()},
            reasons=dict(self.reasons.most_common()),
            nothing_to_change=sum(self.apart[why] for why in (NOTHING_TO_CHANGE, ALL_PROTECTED, NO_WORDS)),
            target_already=spared,
            no_label=self.apart[NAMES_NO_LABEL],
            rejected_clean=self.rejected["skipped"],
            rejected_attacked=self.rejected["failed"],
            majority=Rate(max(self.truths.values(), default=0), self.truths.total()),
            chance=1 / labels if labels else 0.0,
            by=dict(self.by.most_common()),
        )

    def _spread(self, name: str) -> Spread:
        counts = self._numbers.get(name)
        if not counts:
            return Spread(None, None)
        total = counts.total()
        return Spread(fsum(value * many for value, many in counts.items()) / total, _median(counts, total))


def _median(counts: Counter[float], total: int) -> float:
    low, high = (total - 1) // 2, total // 2
    found: list[float] = []
    passed = 0
    for value, many in sorted(counts.items()):
        passed += many
        found += [value] * ((passed > low) + (passed > high) - len(found))
        if len(found) == 2:
            break
    return (found[0] + found[1]) / 2
