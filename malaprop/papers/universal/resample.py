"""Intervals of means over pairs of models, by drawing models again: pairs that share a model are not independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.summary import Z95

RESAMPLES = 2000
Doubles = NDArray[np.float64]


class ModelResamples:
    """How often each model stands in each resample: drawn with replacement, as many as there are."""

    def __init__(self, models: int, *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        rng = generator(seed, "resample", str(models))
        self.weights: Doubles = rng.multinomial(models, [1 / models] * models, resamples).astype(float)

    def means(self, sources: Ints, targets: Ints, values: Doubles) -> Doubles:
        """The mean over the pairs, in each resample; nan where none of the pairs is in it."""
        weights = self.weights[:, sources] * self.weights[:, targets]
        total = weights.sum(1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((weights @ values) / total)

    def estimate(self, sources: Ints, targets: Ints, values: Doubles, error: float) -> Estimate:
        """The mean over the pairs with its interval; `error` is the mean's standard error from the counts behind it."""
        return interval(float(values.mean()), self.means(sources, targets, values), error)


def interval(value: float, resampled: Doubles, error: float = 0.0) -> Estimate:
    """The value between the 2.5% and 97.5% points of its resamples, widened by the standard error of its counts.

    Few models leave little to draw from, and two of them nothing: the counts alone then say how sure the value is.
    """
    known = resampled[np.isfinite(resampled)]
    ends = np.percentile(known, [2.5, 97.5]) if len(known) else (value, value)
    low, high = (float(np.hypot(end - value, Z95 * error)) for end in ends)
    return Estimate(round(value, 6), round(max(0.0, value - low), 6), round(min(1.0, value + high), 6))


def standard_error(sources: Ints, deviations: Doubles) -> float:
    """Of a mean over pairs; what one source's texts say of several targets is taken to go wrong together."""
    sums = np.bincount(sources, deviations)
    return float(np.sqrt((sums**2).sum()) / max(1, len(sources)))
