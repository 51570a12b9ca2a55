"""The record of a run's spending: its queries, tokens, cost and time, and whether a limit ended it."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.core.budget import Budget, Limits, Meter
from malaprop.frame.records.kinds import Record

STATES = {
    "running": "under way, or killed",
    "done": "all of it is done",
    "budget": "a limit was reached before all was done",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingRecord(Record):
    """The spending of all attempts. `state` is a key of STATES; `reached` names the last attempt's limit."""

    state: str
    queries: int
    tokens_in: int
    tokens_out: int
    cost: float
    seconds: float
    examples: int  # the number that ended
    limits: Limits
    reached: str = ""

    @classmethod
    def of(cls, budget: Budget, state: str) -> SpendingRecord:
        spent = budget.spent
        return cls(
            state=state, queries=spent.queries, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out,
            cost=round(budget.cost, 6), seconds=round(60 * budget.minutes, 2), examples=budget.ended,
            limits=budget.limits, reached=budget.reached if state == "budget" else "",
        )  # fmt: skip

    @property
    def meter(self) -> Meter:
        return Meter(self.queries, self.tokens_in, self.tokens_out)

    def describe(self) -> str:
        """Return the spending as one line of text."""
        parts = [f"{self.queries:,} queries"]
        if self.limits.counts_tokens or self.tokens_in:
            parts.append(f"{self.tokens_in:,} tokens in and {self.tokens_out:,} out")
        if self.limits.priced:
            parts.append(f"a cost of {self.cost:.4g}")
        return ", ".join([*parts, f"{self.seconds / 60:.1f} minutes"])
