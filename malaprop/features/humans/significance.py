"""The sign test, and 95% intervals for the difference and the product of two rates."""

from __future__ import annotations

from math import comb, sqrt

from malaprop.frame.records import Rate


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
