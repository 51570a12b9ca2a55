"""The score of a profile: the area under accuracy against the share of changed words, with bootstrap intervals.

Of one text let n(s) be the share of its noisy copies at the share s of changed words that are answered rightly, and
w(s) 1 while no attack has broken it with at most that share of its words, else 0. A text that is wrong unchanged has
w = 0. The score is the mean over texts of

    100 / 0.2 x the integral over s from 0 to 0.2 of (n(s) + w(s)) / 2

n is known at 0 and at each of `noise.SHARES` and linear between them (the trapezoid rule); w is known everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from malaprop.core.seeds import generator
from malaprop.frame.records.intervals import Estimate

Doubles = NDArray[np.float64]
RESAMPLES = 2000
_DIGITS = 6


def noise_areas(shares: Sequence[float], right: Doubles) -> Doubles:
    """Return each text's area under the noise curve, from 0 to 1; `right` [share, text] is between 0 and 1."""
    steps = np.diff(np.asarray(shares))
    return np.asarray(steps @ (right[1:] + right[:-1]) / 2 / (shares[-1] - shares[0]))


def worst_areas(breaks: Doubles, most: float) -> Doubles:
    """Return each text's area under the worst case, from 0 to 1.

    `breaks` [text] is the smallest share of words with which it is broken: 0 for a text that is wrong unchanged,
    infinity for one that holds.
    """
    return np.minimum(breaks, most) / most


def estimate(values: Doubles) -> Estimate:
    """Return the mean over texts with its 95% bootstrap interval; the same resamples of texts for all victims."""
    if not len(values):
        return Estimate(float("nan"), float("nan"), float("nan"))
    many = len(values)
    weights = generator(0, "resample", str(many)).multinomial(many, [1 / many] * many, RESAMPLES) / many
    low, high = np.percentile(weights @ values, [2.5, 97.5])
    return Estimate(*(round(float(value), _DIGITS) for value in (values.mean(), low, high)))
