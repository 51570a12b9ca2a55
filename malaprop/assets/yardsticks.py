"""Quality of word vectors: the cosine of known pairs, human ratings, published lists of neighbours."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from malaprop.assets.folders import data_root
from malaprop.assets.vectors import Floats, Ints, Vectors


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


Ratings = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _read(name: str) -> str | None:
    """Return the text of a file below $MALAPROP_DATA/counter_fitting; None where it is missing."""
    root = data_root()
    path = root / "counter_fitting" / name if root else None
    return gzip.decompress(path.read_bytes()).decode() if path and path.is_file() else None


def _read_simlex(index: Mapping[str, int]) -> Ratings | None:
    """Return the pairs of SimLex-999 whose words are known, as two columns of numbers, with people's ratings."""
    text = _read("SimLex-999.txt.gz")
    if text is None:
        return None
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    rated = [(index[a], index[b], float(r)) for a, b, _, r, *_ in rows if {a, b} <= index.keys()]
    ones, twos, ratings = (np.asarray(column) for column in zip(*rated, strict=True))
    return ones, twos, ratings


def _read_published(index: Mapping[str, int]) -> dict[str, list[int]] | None:
    """Return the published neighbours of each known word, as far as they are known too."""
    text = _read("counterfitted_neighbors_k8.json.gz")
    if text is None:
        return None
    lists: dict[str, list[str]] = json.loads(text)
    return {word: [index[n] for n in near if n in index] for word, near in lists.items() if word in index}


def outside(vectors: Vectors) -> dict[str, float | int]:
    """Score vectors on SimLex-999 and on published neighbours (of our 8 and 50 nearest), if $MALAPROP_DATA has them."""
    found: dict[str, float | int] = {}
    if simlex := _read_simlex(vectors.index):
        ones, twos, ratings = simlex
        cosines = np.einsum("pd,pd->p", vectors.matrix[ones], vectors.matrix[twos]).astype(np.float64)
        found |= {"simlex": round(spearman(cosines, ratings), 4), "simlex_pairs": len(ratings)}
    if published := _read_published(vectors.index):
        found |= _shared(vectors, published)
    return found


def _shared(vectors: Vectors, known: dict[str, list[int]], words: int = 3000) -> dict[str, float | int]:
    """Count shared neighbours of the first words whose list has at least four known words."""
    asked = [word for word, near in known.items() if len(near) >= 4][:words]
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


class Table(Protocol):
    """Words with their neighbours [word, k], best first, and scores; see `malaprop.assets.synonyms`."""

    table: Ints

    @property
    def index(self) -> dict[str, int]: ...

    @property
    def cosines(self) -> NDArray[np.floating]: ...


def outside_table(
    near: Table, score: Callable[[NDArray[np.int64]], Floats], floor: float
) -> dict[str, float | int | None]:
    """Score a table of synonyms on SimLex-999, published neighbours and lists of antonyms, if $MALAPROP_DATA has them.

    `score` gives the scores [row, word] of some words with all. SimLex is also given for the halves of its pairs by
    their first word, as the settings of the table were chosen on the first half. Of antonyms the figure is the share of
    pairs of which one word stands among the other's neighbours from `floor` up.
    """
    found: dict[str, float | int | None] = {}
    if simlex := _read_simlex(near.index):
        ones, twos, ratings = simlex
        scores = np.asarray([score(one[None])[0, two] for one, two in zip(ones, twos, strict=True)], np.float64)
        words = list(near.index)
        second = np.asarray([zlib.crc32(words[one].encode()) % 2 == 1 for one in ones.tolist()])
        for name, those in (("simlex", second | ~second), ("simlex_chosen", ~second), ("simlex_other", second)):
            found[name] = round(spearman(scores[those], ratings[those]), 4) if those.sum() > 2 else None
        found["simlex_pairs"] = len(ratings)
    if published := _read_published(near.index):
        asked = {near.index[word]: set(listed) for word, listed in published.items() if listed}
        total = sum(map(len, asked.values()))
        for count in (8, 50):
            hits = sum(len(listed.intersection(near.table[row, :count].tolist())) for row, listed in asked.items())
            found[f"published_in_{count}"] = round(hits / total, 4)
        found |= {"published_words": len(asked), "published_pairs": total}
    return found | _count_antonyms(near, floor)


def _count_antonyms(near: Table, floor: float) -> dict[str, float | int | None]:
    """Count the listed pairs of antonyms of which one word is among the other's neighbours from `floor` up."""
    texts = [_read(f"{name}_antonyms.txt.gz") for name in ("ppdb", "wordnet")]
    lines = {tuple(sorted(line.split())) for text in texts if text for line in text.splitlines()}
    pairs = [(near.index[p[0]], near.index[p[1]]) for p in lines if len(set(p)) == 2 and {*p} <= near.index.keys()]
    if not pairs:
        return {}
    ways = np.asarray(pairs + [(two, one) for one, two in pairs])
    held = ((near.table[ways[:, 0]] == ways[:, 1, None]) & (near.cosines[ways[:, 0]] >= floor)).any(1)
    beside = int((held[: len(pairs)] | held[len(pairs) :]).sum())
    return {"antonyms_beside": beside, "antonyms_asked": len(pairs), "antonyms_share": round(beside / len(pairs), 5)}
