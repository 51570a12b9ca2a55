"""The nearest of many unit vectors, by blocked matrix products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
MOST = 50  # neighbours kept of each word
WIDE = 100  # neighbours of each word in the wider table, for recipes that filter most of them out
_ROWS, _COLUMNS = 256, 8192  # of one matrix product: 8 MB, which stays in the processor's cache
_SAMPLE = 2048  # columns from which a row's bar is taken


def nearest(matrix: Floats, k: int = MOST) -> tuple[Ints, NDArray[np.float16]]:
    """Return for each unit vector the k others of highest cosine; ties go to the lower number.

    A spread sample of the columns gives each row a bar that about 3k cosines pass; only those are sorted. The bar is
    lowered for a row where fewer than k pass, so it changes the time alone.
    """
    many = len(matrix)
    k = min(k, many - 1)
    table, cosines = np.zeros((many, k), np.int32), np.zeros((many, k), np.float16)
    sample = matrix[:: max(1, many // _SAMPLE)]
    place = max(0, len(sample) - 2 - 3 * k * len(sample) // many)  # one more down: a row may be in its own sample
    for start in range(0, many if k > 0 else 0, _ROWS):
        rows = np.arange(start, min(start + _ROWS, many))
        bar = np.partition(matrix[rows] @ sample.T, place, axis=1)[:, place]
        while True:
            at, columns, values = passing(matrix, rows, bar)
            short = np.bincount(at, minlength=len(rows)) < k
            if not short.any():
                break
            bar = np.where(short, np.float32(-2), bar)
        order = np.lexsort((columns, -values, at))
        first = np.searchsorted(at[order], np.arange(len(rows)))
        best = order[first[:, None] + np.arange(k)]
        table[rows], cosines[rows] = columns[best], values[best]
    return table, cosines


def passing(
    matrix: Floats, rows: NDArray[np.int64], bar: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Find the vectors whose cosine reaches the row's bar: place among `rows`, number of the vector, cosine."""
    ats, columns, values = [], [], []
    for start in range(0, len(matrix), _COLUMNS):
        block = matrix[rows] @ matrix[start : start + _COLUMNS].T
        at, column = np.divmod(np.flatnonzero(block >= bar[:, None]), block.shape[1])
        other = rows[at] != column + start
        ats.append(at[other])
        columns.append(column[other] + start)
        values.append(block[at[other], column[other]])
    return np.concatenate(ats), np.concatenate(columns), np.concatenate(values)
