"""Measures how far one changed word moves a victim's states, by word and layer and as a whole (R_e)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.core.pool import Pool
from malaprop.core.score import Flags, Floats
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.features.explain.record import AttentionMean
from malaprop.models.embeddings import L1
from malaprop.models.inside import WordStates

Z95 = 1.959964  # the normal's 97.5% point


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Movement:
    """The change of one layer's states: `by_word` is the L2 norm of the change of each word's state.

    `relative` is R_e = |z - z'| / |z| with the states of all words as one vector z. `elsewhere` and `reach` say how far
    the change is spread, see `malaprop.features.explain.record.AttentionLayer`; they are nan where no state moved.
    """

    by_word: Floats
    relative: float
    elsewhere: float
    reach: float


def variation(states: WordStates, origin: Text, final: Text) -> list[Movement]:
    """Measure the change of each layer, beginning with the input of the first."""
    slots = final.changed(origin)
    both = zip(states.words(origin), states.words(final), strict=True)
    return [measure_movement(before, after, slots) for before, after in both]


def measure_movement(before: Floats, after: Floats, changed: Ints) -> Movement:
    """Measure the change of one layer's states; words that the victim does not read on both sides are left out."""
    read: Flags = np.asarray(np.isfinite(before).all(1) & np.isfinite(after).all(1), np.bool_)
    by_word = np.where(read, np.linalg.norm(np.where(read[:, None], after - before, 0), axis=1), 0).astype(np.float32)
    whole = float(np.linalg.norm(before[read]))
    total = float(by_word.sum())
    mine = float(by_word[changed].sum())
    return Movement(
        by_word=by_word,
        relative=float(np.linalg.norm(by_word)) / whole if whole else math.nan,
        elsewhere=1 - mine / total if total else math.nan,
        reach=spread(by_word) / max(1, int(read.sum())) if total else math.nan,
    )


def spread(values: Floats) -> float:
    """Return over how many values their sum is spread: the exponential of the entropy of the shares."""
    shares = values.astype(np.float64) / values.sum(dtype=np.float64)
    kept = shares[shares > 0]
    return float(np.exp(-(kept * np.log(kept)).sum()))


def pooled_variation(embeddings: L1, origin: Text, final: Text) -> float:
    """Return R_e of the vector that the classifier reads, for a victim that offers embeddings."""
    pool = Pool([Variants.itself(origin), Variants.itself(final)])
    before, after = embeddings.vectors(pool, np.arange(2)).double().cpu().numpy()
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def mean(values: Iterable[float]) -> AttentionMean:
    """Return the mean with a 95% interval by the normal distribution; nan values are left out."""
    kept: NDArray[np.float64] = np.asarray([v for v in values if not math.isnan(v)], np.float64)
    if not len(kept):
        return AttentionMean(math.nan, math.nan, math.nan, 0)
    value = float(kept.mean())
    half = Z95 * float(kept.std(ddof=1)) / math.sqrt(len(kept)) if len(kept) > 1 else math.inf
    return AttentionMean(value, value - half, value + half, len(kept))


def column(rows: Sequence[Sequence[Movement]], layer: int, name: str) -> AttentionMean:
    """Return the mean over all texts of one measure of one layer."""
    return mean(getattr(row[layer], name) for row in rows)
