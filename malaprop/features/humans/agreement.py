"""Statistics of ratings: agreement of raters, the sign test, intervals for the difference and product of two rates.

Krippendorff's alpha is agreement beyond chance, for any number of raters and with missing answers, after "Computing
Krippendorff's Alpha-Reliability" (2011): 1 is full agreement, 0 is chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb, sqrt
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.frame.records import Rate

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = get_args(Level)
Values = Float[np.ndarray, " value"]
Table = Float[np.ndarray, "unit value"]

DRAWS = 1000


def counts(units: Iterable[Iterable[float]]) -> tuple[Table, Values]:
    """Return how often each unit got each value, and the sorted values; units with a single answer are left out."""
    kept = [answers for answers in map(list, units) if len(answers) > 1]
    values = sorted({value for answers in kept for value in answers})
    place = {value: number for number, value in enumerate(values)}
    table = np.zeros((len(kept), len(values)))
    for row, answers in enumerate(kept):
        for value in answers:
            table[row, place[value]] += 1
    return table, np.asarray(values, float)


def _distance(level: Level, values: Values, totals: Values) -> Float[np.ndarray, "value value"]:
    """Return the squared distance between each two values at a level of measurement."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    if level == "ordinal":
        middle = np.cumsum(totals) - totals / 2  # a difference counts all values between, and half of both ends
        return np.asarray((middle[:, None] - middle[None, :]) ** 2)
    raise SettingError(f"level must be one of {', '.join(LEVELS)}, got {level!r}")


def _alpha(table: Table, values: Values, level: Level) -> float | None:
    totals = table.sum(0)
    n = totals.sum()
    if n < 2:
        return None
    apart = _distance(level, values, totals)
    expected = float(totals @ apart @ totals) / (n - 1)
    if expected == 0:
        return None
    within = np.einsum("uv,vw,uw->u", table, apart, table) / (table.sum(1) - 1)
    return float(1 - within.sum() / expected)


def alpha(units: Iterable[Iterable[float]], level: Level) -> float | None:
    """Return alpha of each unit's answers; None where nothing varies or no unit has two answers."""
    table, values = counts(units)
    return _alpha(table, values, level)


def alpha_interval(
    units: Sequence[Sequence[float]], level: Level, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float] | None:
    """Return a 95% bootstrap interval over units; None where alpha is undefined in more than a tenth of the draws."""
    table, values = counts(units)
    if _alpha(table, values, level) is None:
        return None
    rng = generator(seed, "alpha", level)
    picks = rng.integers(len(table), size=(draws, len(table)))
    found = [a for pick in picks if (a := _alpha(table[pick], values, level)) is not None]
    if len(found) < 0.9 * draws:
        return None
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


def sign_test(plus: int, minus: int) -> float | None:
    """Return the exact two-sided p-value of a sign test with `plus` and `minus` signs, ties left out beforehand.

    None where there are no signs.
    """
    n = plus + minus
    if n == 0:
        return None
    tail = sum(comb(n, k) for k in range(min(plus, minus) + 1))
    return min(1.0, 2 * tail / (1 << n))


def difference(a: Rate, b: Rate) -> tuple[float, float, float] | None:
    """Return a - b with Newcombe's 95% interval (1998, method 10); None where either is empty."""
    if not a.total or not b.total:
        return None
    (low_a, high_a), (low_b, high_b) = a.interval, b.interval
    gap = a.value - b.value
    below = sqrt((a.value - low_a) ** 2 + (high_b - b.value) ** 2)
    above = sqrt((high_a - a.value) ** 2 + (b.value - low_b) ** 2)
    return gap, max(-1.0, gap - below), min(1.0, gap + above)


def product(a: Rate, b: Rate) -> tuple[float, float, float] | None:
    """Return a * b with a 95% interval from theirs, to first order (MOVER, Zou and Donner 2008)."""
    if not a.total or not b.total:
        return None
    (low_a, high_a), (low_b, high_b) = a.interval, b.interval
    both = a.value * b.value
    below = sqrt((b.value * (a.value - low_a)) ** 2 + (a.value * (b.value - low_b)) ** 2)
    above = sqrt((b.value * (high_a - a.value)) ** 2 + (a.value * (high_b - b.value)) ** 2)
    return both, max(0.0, both - below), min(1.0, both + above)
