"""The difference of two accuracies on the same texts, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from malaprop.frame.records.summary import Z95


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A difference of two accuracies on the same texts, with its 95% interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, before: Sequence[bool], after: Sequence[bool]) -> Gain:
        """Agresti and Min's interval for paired shares: half a text is added to each of the four cells."""
        won = sum(b and not a for a, b in zip(before, after, strict=True))
        lost = sum(a and not b for a, b in zip(before, after, strict=True))
        total = len(before)
        if not total:
            return cls(value=0.0, low=-1.0, high=1.0)
        n, b, c = total + 2, won + 0.5, lost + 0.5
        middle, half = (b - c) / n, Z95 * sqrt((b + c) - (b - c) ** 2 / n) / n
        return cls(value=(won - lost) / total, low=middle - half, high=middle + half)

    def __str__(self) -> str:
        return f"{100 * self.value:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f})"
