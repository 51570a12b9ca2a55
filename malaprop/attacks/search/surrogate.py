"""A Gaussian process over choices: what replacements in several slots, put together, may be worth."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from malaprop.core.text import Ints

Numbers = NDArray[np.float64]
_NOISE = 1e-4  # of the variance of what was seen: keeps the matrix well-conditioned
_SHARED = 0.5  # how much two replacements of one word have in common: that the word is gone


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """Effects of texts [text, slot]: the number of the replacement in each slot, 0 for the original word.

    The kernel is a sum over slots, each weighed by how much was seen to depend on it (`weights`): 1 for the same
    replacement, half for another one, 0 where the original word stands; and the same over pairs of slots, as the square
    of that sum. So the effect of the original is 0 for certain. `mean` is what is expected of a slot before any of its
    replacements was seen.
    """

    seen: Ints  # [text, slot]
    mean: Numbers  # [slot]
    weights: Numbers  # [slot]
    scale: float
    factor: Numbers  # [text, text], lower triangle
    solved: Numbers  # [text]

    @classmethod
    def fit(cls, seen: Ints, effects: Numbers, mean: Numbers) -> Surrogate:
        """With these texts and their effects."""
        rest = effects - (seen > 0) @ mean
        weights = np.full(seen.shape[1], 1 / seen.shape[1]) + np.abs(mean) / max(np.abs(mean).sum(), 1e-9)
        weights /= weights.sum()
        scale = max(float(np.mean(rest**2)), float(np.mean(mean**2)), 1e-6) * seen.shape[1]
        sums = sum(_shares(seen, weights, slot, seen[:, slot]) for slot in range(seen.shape[1]))
        kernel = scale * (sums + sums**2)
        kernel[np.diag_indices(len(seen))] += _NOISE * scale + 1e-8
        factor = np.linalg.cholesky(kernel)
        solved = np.linalg.solve(factor.T, np.linalg.solve(factor, rest))
        return cls(seen, mean, weights, scale, factor, solved)

    def expect(self, row: Ints, slots: Ints, choices: Ints) -> tuple[Numbers, Numbers]:
        """What the effect is expected to be, and how unsure that is (a standard deviation), of the texts that differ
        from a row by one choice in one slot."""
        changed = (choices > 0).astype(np.float64) - (row[slots] > 0)
        own = float(self.weights[row > 0].sum()) + self.weights[slots] * changed
        at = np.flatnonzero(row)
        sums = _shares(self.seen, self.weights, at, row[at]).sum(0)
        sums = sums + _shares(self.seen, self.weights, slots, choices)
        sums -= _shares(self.seen, self.weights, slots, row[slots])
        cross = self.scale * (sums + sums**2)
        means = float(self.mean[row > 0].sum()) + self.mean[slots] * changed + cross @ self.solved
        half = np.linalg.solve(self.factor, cross.T)
        return means, np.sqrt(np.maximum(self.scale * (own + own**2) - (half**2).sum(0), 1e-12))


def _shares(seen: Ints, weights: Numbers, slots: Ints | int, choices: Ints) -> Numbers:
    """What a choice in a slot has in common with what each text that was seen has there [choice, text]."""
    slots = np.broadcast_to(slots, choices.shape)
    there = seen[:, slots].T
    alike = np.where(there == choices[:, None], 1.0, _SHARED) * (there > 0)
    found: Numbers = alike * (weights[slots] * (choices > 0))[:, None]
    return found


def improve(means: Numbers, spreads: Numbers, best: float) -> Numbers:
    """Expected improvement on the best: by how much each is likely to surpass it, on average."""
    ahead = (means - best) / spreads
    density = np.exp(-0.5 * ahead**2) / sqrt(2 * np.pi)
    return spreads * (ahead * _cumulative(ahead) + density)


def _cumulative(z: Numbers) -> Numbers:
    """The normal distribution function (Abramowitz and Stegun 7.1.26, right to 1.5e-7)."""
    x = np.abs(z) / sqrt(2)
    t = 1 / (1 + 0.3275911 * x)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * poly * np.exp(-(x**2))
    return np.where(z > 0, 1 - tail, tail)
