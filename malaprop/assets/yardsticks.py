"""Quality of word vectors: the cosine of known pairs, human ratings, published lists of neighbours."""

from __future__ import annotations

import gzip
import json

import numpy as np
from numpy.typing import NDArray

from malaprop.assets.folders import data_root
from malaprop.assets.nearest import Floats
from malaprop.assets.vectors import Vectors


def mean_cosine(matrix: Floats, pairs: NDArray[np.int64]) -> float | None:
    """Return the mean cosine of pairs of unit vectors; None without pairs."""
    if not len(pairs):
        return None
    return round(float(np.einsum("pd,pd->p", matrix[pairs[:, 0]], matrix[pairs[:, 1]]).mean()), 4)


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from the lowest value up; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middles = ends - (counts - 1) / 2
    return np.asarray(middles[inverse], np.float64)


def spearman(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation."""
    return float(np.corrcoef(ranks(one), ranks(two))[0, 1])


def outside(vectors: Vectors) -> dict[str, float | int]:
    """Score vectors on SimLex-999 and on published neighbours (of our 8 and 50 nearest), if $MALAPROP_DATA has them."""
    root = data_root()
    found: dict[str, float | int] = {}
    if root and (path := root / "counter_fitting" / "SimLex-999.txt.gz").is_file():
        rows = [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()[1:]]
        rated = [
            (vectors.index[a], vectors.index[b], float(r)) for a, b, _, r, *_ in rows if {a, b} <= vectors.index.keys()
        ]
        ones, twos, ratings = (np.asarray(column) for column in zip(*rated, strict=True))
        cosines = np.einsum("pd,pd->p", vectors.matrix[ones], vectors.matrix[twos]).astype(np.float64)
        found |= {"simlex": round(spearman(cosines, ratings), 4), "simlex_pairs": len(rated)}
    if root and (path := root / "counter_fitting" / "counterfitted_neighbors_k8.json.gz").is_file():
        lists: dict[str, list[str]] = json.loads(gzip.decompress(path.read_bytes()))
        found |= _shared(vectors, lists)
    return found


def _shared(vectors: Vectors, lists: dict[str, list[str]], words: int = 3000) -> dict[str, float | int]:
    """Count shared neighbours of the first words whose list has at least four known words."""
    known = {word: [vectors.index[n] for n in near if n in vectors.index] for word, near in lists.items()}
    asked = [word for word, near in known.items() if word in vectors.index and len(near) >= 4][:words]
    hits, total = {8: 0, 50: 0}, 0
    for word in asked:
        row = vectors.index[word]
        cosines = vectors.matrix @ vectors.matrix[row]
        cosines[row] = -2
        some = np.argpartition(-cosines, min(50, len(cosines) - 1))[:50]
        nearest = some[np.lexsort((some, -cosines[some]))].tolist()
        total += len(known[word])
        for count in hits:
            hits[count] += len(set(nearest[:count]) & set(known[word]))
    return {f"published_in_{count}": round(hit / max(total, 1), 4) for count, hit in hits.items()}
