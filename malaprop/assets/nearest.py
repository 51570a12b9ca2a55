"""The nearest of many unit vectors, by blocked matrix products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
MOST = 50  # neighbours kept of each word
_BLOCK = 512  # rows a product: 512 x 60,000 floats are 120 MB


def nearest(matrix: Floats, k: int = MOST, *, seed: int = 0) -> tuple[Ints, NDArray[np.float16]]:
    """For each unit vector the k others of highest cosine, ties to the lower number.

    A sample of the columns gives each row a bar that about 3k cosines pass; only those are sorted. A row where fewer
    than k pass is sorted whole, so the bar changes the time alone.
    """
    many = len(matrix)
    k = min(k, many - 1)
    share = max(1, many // 2000)
    sample = np.random.default_rng(seed).permutation(many)[: max(many // share, 1)]
    table, cosines = np.zeros((many, k), np.int32), np.zeros((many, k), np.float16)
    for start in range(0, many if k else 0, _BLOCK):
        block = matrix[start : start + _BLOCK] @ matrix.T
        here = np.arange(len(block))
        block[here, start + here] = -2.0  # not its own neighbour
        place = max(0, len(sample) - 1 - (3 * k) // share)
        bar = np.partition(block[:, sample], place, axis=1)[:, place]
        rows, columns = np.nonzero(block >= bar[:, None])
        ends = np.searchsorted(rows, np.arange(len(block) + 1))
        for row in here.tolist():
            near = columns[ends[row] : ends[row + 1]]
            if len(near) < k:
                near = np.arange(many)
            best = near[np.lexsort((near, -block[row, near]))[:k]]
            table[start + row], cosines[start + row] = best, block[row, best]
    return table, cosines
