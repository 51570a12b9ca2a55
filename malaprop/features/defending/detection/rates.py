"""ROC area, thresholds and counts: how well scores separate adversarial texts from clean ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np

_Z = 1.959963984540054  # of a 95% interval


class Auc(NamedTuple):
    """The chance that an adversarial text is more suspicious than a clean one, with a 95% interval."""

    value: float
    low: float
    high: float


def find_auc(clean: Sequence[float], attacked: Sequence[float]) -> Auc:
    """Return the area under the ROC curve, ties counted half, with the interval of Hanley and McNeil (1982)."""
    n, m = len(clean), len(attacked)
    order = np.sort(np.asarray(clean, np.float64))
    below = np.searchsorted(order, attacked, "left") + np.searchsorted(order, attacked, "right")
    value = float(below.sum()) / (2 * n * m)
    one, two = value / (2 - value), 2 * value**2 / (1 + value)
    spread = value * (1 - value) + (m - 1) * (one - value**2) + (n - 1) * (two - value**2)
    off = _Z * sqrt(max(0.0, spread) / (n * m))
    return Auc(value, max(0.0, value - off), min(1.0, value + off))


def find_threshold(clean: Sequence[float], false_positives: float) -> float:
    """Return the score that at most this share of the clean texts exceeds."""
    order = np.sort(np.asarray(clean, np.float64))
    allowed = int(np.floor(false_positives * len(order)))
    return float(order[len(order) - 1 - allowed])


def count_wanted(total: int, share: float) -> int:
    """Return the smallest count that is at least this share of the total, and at least 1."""
    return max(1, ceil(share * total - 1e-9))


def find_strictest(right: Sequence[float], total: int, share: float) -> float:
    """Return the lowest threshold at which this share of all texts is right and not rejected.

    `right` are the scores of the texts that the victim answers rightly, `total` counts all texts.
    """
    return float(np.sort(np.asarray(right, np.float64))[count_wanted(total, share) - 1])
