"""The transfer matrix: how many adversarial texts of each source each target gets wrong, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.summary import Z95
from malaprop.papers.universal.record import Row, TransferRecord

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
    """Return the value with the 2.5% and 97.5% points of its resamples, widened by the standard error of its counts.

    With two models all resamples are alike; the interval then rests on the counts alone.
    """
    known = resampled[np.isfinite(resampled)]
    ends = np.percentile(known, [2.5, 97.5]) if len(known) else (value, value)
    low, high = (float(np.hypot(end - value, Z95 * error)) for end in ends)
    return Estimate(round(value, 6), round(max(0.0, value - low), 6), round(min(1.0, value + high), 6))


def standard_error(sources: Ints, deviations: Doubles) -> float:
    """Return the standard error of a mean over pairs; errors of pairs with one source are taken as correlated."""
    sums = np.bincount(sources, deviations)
    return float(np.sqrt((sums**2).sum()) / max(1, len(sources)))


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """The counts [source, target] of a transfer study; a total is 0 where nothing was tried.

    The diagonal holds base rates: each model's second, trained from another seed, stands there as the target.
    """

    hits: Ints
    totals: Ints

    @classmethod
    def of(cls, hits: Sequence[Row], totals: Sequence[Row]) -> Matrix:
        return cls(_counts(hits), _counts(totals))

    @classmethod
    def from_record(cls, record: TransferRecord) -> Matrix:
        return cls.of(record.hits, record.totals)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def rates(self) -> Doubles:
        """Transfer rates [source, target] between 0 and 1; nan where nothing was tried."""
        return np.where(self.totals > 0, self.hits / np.maximum(self.totals, 1), np.nan)

    @property
    def base(self) -> Doubles:
        """The base rate of each model: the transfer rate between two models of the same kind with different seeds."""
        return np.asarray(np.diagonal(self.rates))

    @property
    def deviations(self) -> Doubles:
        """Return the rates' standard errors, with one hit and one miss added to the counts, so that no error is 0."""
        shares = np.clip((self.hits + 1) / (self.totals + 2), 0, 1)
        return np.sqrt(shares * (1 - shares) / np.maximum(self.totals, 1))

    def base_mean(self, draws: ModelResamples) -> Estimate | None:
        """Return the mean base rate, the upper line of Figure 1; None if no model has one."""
        known = np.flatnonzero(np.isfinite(self.base))
        if not len(known):
            return None
        weights = draws.weights[:, known]
        with np.errstate(invalid="ignore", divide="ignore"):
            resampled = (weights @ self.base[known]) / weights.sum(1)
        error = standard_error(known, self.deviations[known, known])
        return interval(float(self.base[known].mean()), resampled, error)

    def pairs_mean(self, draws: ModelResamples) -> Estimate | None:
        """Return the mean rate over all pairs of two different models, the lower line of Figure 1."""
        sources, targets = np.nonzero(np.isfinite(self.rates) & ~np.eye(len(self), dtype=bool))
        return self.mean(sources, targets, draws) if len(sources) else None

    def mean(self, sources: Ints, targets: Ints, draws: ModelResamples) -> Estimate:
        """Return the mean rate over these pairs, with its interval."""
        error = standard_error(sources, self.deviations[sources, targets])
        return draws.estimate(sources, targets, self.rates[sources, targets], error)


def _counts(rows: Sequence[Row]) -> Ints:
    return np.asarray([[value or 0 for value in row] for row in rows], np.int64).reshape(len(rows), -1)
