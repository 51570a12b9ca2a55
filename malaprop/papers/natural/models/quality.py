"""Measure a generative model of images: reconstruction error, distance from real images, and coverage of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


def root_mean_square(one: NDArray[np.floating], two: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the root mean square error a pixel of each pair of images."""
    apart = (np.asarray(one, np.float64) - two).reshape(len(one), -1)
    return np.asarray(np.sqrt(np.square(apart).mean(1)))


def sliced_wasserstein(
    one: NDArray[np.floating], two: NDArray[np.floating], *, ways: int = 256, seed: int = 0
) -> float:
    """Return the mean Wasserstein distance of two sets of images along random directions of unit length."""
    a, b = (np.asarray(part, np.float64).reshape(len(part), -1) for part in (one, two))
    size = min(len(a), len(b))
    directions = np.random.default_rng(seed).standard_normal((a.shape[1], ways))
    directions /= np.linalg.norm(directions, axis=0)
    return float(np.abs(np.sort(a[:size] @ directions, 0) - np.sort(b[:size] @ directions, 0)).mean())


def frechet(one: Rows, two: Rows) -> float:
    """Return the Frechet distance of two sets of feature vectors, each taken for a Gaussian."""
    means = one.mean(0) - two.mean(0)
    a, b = _spread(one), _spread(two)
    roots = np.linalg.eigvals(a @ b)
    shared = float(np.sqrt(np.clip(roots.real, 0, None)).sum())
    return float(means @ means + np.trace(a) + np.trace(b) - 2 * shared)


def _spread(rows: Rows) -> Rows:
    """Return the covariances of the rows, zero for a single row."""
    return np.atleast_2d(np.cov(rows, rowvar=False)) if len(rows) > 1 else np.zeros((rows.shape[1],) * 2)


def coverage(made: NDArray[np.int64], real: NDArray[np.int64], classes: int) -> tuple[int, float]:
    """Count the classes with at least a tenth of their real share; also return the distance of all shares (0 to 1)."""
    shares = [np.bincount(labels, minlength=classes)[:classes] / max(1, len(labels)) for labels in (made, real)]
    return int((shares[0] >= 0.1 * shares[1]).sum()), float(0.5 * np.abs(shares[0] - shares[1]).sum())
