"""Intervals of means over pairs of models, by drawing models again: pairs that share a model are not independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.records.transfer import Estimate

RESAMPLES = 2000
Doubles = NDArray[np.float64]


class Draws:
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

    def estimate(self, sources: Ints, targets: Ints, values: Doubles) -> Estimate:
        """The mean over the pairs with its interval."""
        return interval(float(values.mean()), self.means(sources, targets, values))


def interval(value: float, resampled: Doubles) -> Estimate:
    """The value between the 2.5% and 97.5% points of its resamples; itself where nothing could be drawn."""
    known = resampled[np.isfinite(resampled)]
    low, high = np.percentile(known, [2.5, 97.5]) if len(known) else (value, value)
    return Estimate(round(value, 6), round(float(low), 6), round(float(high), 6))
