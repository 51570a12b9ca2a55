"""chrF (Popović 2015) as sacrebleu computes it by default: runs of one to six characters, white space left out."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

ORDER = 6
_WEIGHT = 4  # of recall against precision: beta is 2


@lru_cache(maxsize=4096)
def _count(text: str) -> tuple[Counter[str], ...]:
    """How often each run of characters stands in the text, by its length."""
    bare = "".join(text.split())
    return tuple(Counter(bare[i : i + n] for i in range(len(bare) - n + 1)) for n in range(1, ORDER + 1))


def sentence(output: str, reference: str) -> float:
    """From 0 to 100; lengths of which one of the texts has no run are left out."""
    precision = recall = 0.0
    used = 0
    for ours, theirs in zip(_count(output), _count(reference), strict=True):
        if ours and theirs:
            hits = (ours & theirs).total()
            precision, recall, used = precision + hits / ours.total(), recall + hits / theirs.total(), used + 1
    if not used or not precision + recall:
        return 0.0
    return 100 * (1 + _WEIGHT) * precision * recall / (_WEIGHT * precision + recall) / used
