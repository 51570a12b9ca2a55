"""A figure with its interval, as several records have it."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.core.codec import Real


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval."""

    value: Real
    low: Real
    high: Real

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f})"
