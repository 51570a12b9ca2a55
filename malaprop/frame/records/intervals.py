"""Estimates with 95% intervals, tests of their differences, and verdicts on claims: holds, leans, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isnan, nan, sqrt
from statistics import fmean, stdev
from typing import Protocol

from malaprop.core.codec import Real
from malaprop.frame.records.summary import Z95, Rate

VERDICTS = {
    "holds": "all our figures agree with the claim, and their 95% intervals exclude the opposite of the claim",
    "leans": "all our figures agree with the claim, but an interval includes the opposite, or a figure has no interval",
    "inconclusive": "at least one figure does not agree with the claim, but its interval includes the claim; or we "
    "cannot decide a part of the claim",
    "fails": "at least one figure contradicts the claim, and its interval excludes the claim",
    "by construction": "our code makes it true; it could not have come out otherwise",
    "figure": "we show our figure beside the paper's; the claim has no order to hold or to fail",
    "not done": "we have no record of it, for the reason given",
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval."""

    value: Real
    low: Real
    high: Real

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A difference of two accuracies on the same texts, with its 95% interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, before: Sequence[bool], after: Sequence[bool]) -> Gain:
        """Return the gain with Agresti and Min's interval for paired shares: 1/2 is added to each of the four cells."""
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


_ORDER = tuple(VERDICTS)[:4]  # from the best to the worst
AMISS = _ORDER[2:]  # verdicts that a claim must give a reason for
HALF = Estimate(0.5, 0.5, 0.5)  # a known value, without uncertainty
NOTHING = Estimate(0.0, 0.0, 0.0)


class Interval(Protocol):
    """The protocol of a figure with its 95% interval; the records of studies define such figures."""

    @property
    def value(self) -> float: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def sign(value: float, low: float, high: float) -> str:
    """Return the verdict on the claim that a figure is above 0."""
    if isnan(value):
        return "inconclusive"
    if low > 0:
        return "holds"
    if value > 0:
        return "leans"
    return "fails" if high < 0 else "inconclusive"


def above(one: Rate | Interval, two: Rate | Interval) -> str:
    """Return the verdict on the claim that `one` is larger than `two`, by Newcombe's interval of the difference."""
    gap = differ(one, two)
    return sign(gap.value, gap.low, gap.high)


def differ(one: Rate | Interval, two: Rate | Interval) -> Estimate:
    """Return `one` minus `two` with Newcombe's interval."""
    (a, low_a, high_a), (b, low_b, high_b) = _parts(one), _parts(two)
    gap = a - b
    low = gap - sqrt((a - low_a) ** 2 + (high_b - b) ** 2)
    return Estimate(gap, low, gap + sqrt((high_a - a) ** 2 + (b - low_b) ** 2))


def average(numbers: Iterable[float]) -> Estimate:
    """Return the mean with its normal 95% interval, which is infinite for fewer than two numbers."""
    found = list(numbers)
    if len(found) < 2:
        return Estimate(found[0] if found else nan, -inf, inf)
    middle, half = fmean(found), Z95 * stdev(found) / sqrt(len(found))
    return Estimate(middle, middle - half, middle + half)


def pool(rates: Sequence[Rate]) -> Rate:
    """Return the rate over several victims; its interval counts each text once, as all victims share the texts."""
    total = sum(rate.total for rate in rates)
    return Rate(sum(rate.hits for rate in rates), total, units=max(1, total // len(rates)))


def gap_text(one: Rate | Interval, two: Rate | Interval) -> str:
    """Return `one` minus `two` in percentage points with its interval, as text."""
    gap = differ(one, two)
    value, low, high = (f"{100 * x:+.1f}" for x in (gap.value, gap.low, gap.high))
    return f"{value} points ({low} to {high})"


def tell_larger(one: Rate | Interval, two: Rate | Interval, name: str) -> str:
    """Return a phrase that says whether `one`, called `name`, is larger or smaller than `two`, or neither."""
    said = {"holds": f"{name} is larger", "fails": f"{name} is smaller"}
    return said.get(above(one, two), "not told apart")


def falling(figures: Sequence[Rate | Interval]) -> str:
    """Return the verdict on the claim that each figure is larger than the next."""
    return worst(above(one, two) for one, two in pairwise(figures))


def points(true: bool, *, opposite: bool = False) -> str:
    """Return the verdict on a claim about figures without intervals: `true` says whether their order supports it."""
    return "leans" if true else "fails" if opposite else "inconclusive"


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst verdict of a claim's parts; "inconclusive" if there are none."""
    return max(verdicts, key=_ORDER.index, default="inconclusive")


def short(figure: Rate | Interval | None, *, percent: bool = False) -> str:
    """Return a figure and its interval as text; a `Rate` shows its counts too."""
    if figure is None:
        return "n/a"
    if isinstance(figure, Rate):
        return str(figure)
    scale, digits, unit = (100, 1, "%") if percent else (1, 3, "")
    value, low, high = (f"{scale * x:.{digits}f}" for x in (figure.value, figure.low, figure.high))
    return f"{value}{unit} ({low} to {high})"


def _parts(figure: Rate | Interval) -> tuple[float, float, float]:
    if isinstance(figure, Rate):
        return figure.value, *figure.interval
    return figure.value, figure.low, figure.high
