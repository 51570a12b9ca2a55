"""Word counts of the texts that a detector is fitted on, and neighbours that may replace a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from malaprop.core.text import Ints, Words, word_pattern
from malaprop.core.victim import Fields
from malaprop.features.defending.detection.suspicion import Learnt


def count_words(corpus: Sequence[Fields]) -> Learnt:
    """Count the lower-cased words of these texts."""
    pattern = word_pattern()
    counts = Counter(word.lower() for fields in corpus for value in fields for word in pattern.findall(value))
    words = sorted(counts)
    return Learnt({"counts": np.asarray([counts[word] for word in words], np.int64)}, {"words": words})


@lru_cache(maxsize=8)
def read_counts(learnt: Learnt) -> Mapping[str, int]:
    return dict(zip(learnt.words["words"], learnt.arrays["counts"].tolist(), strict=True))


def ids_of(table: Words, words: Sequence[str]) -> Ints:
    return table.ids(words) if words else np.empty(0, np.int64)


@lru_cache(maxsize=1 << 16)
def find_neighbours(word: str, nearest: int) -> tuple[str, ...]:
    """Return words that may replace another: its WordNet synonyms and its nearest counter-fitted neighbours."""
    from malaprop.assets.vectors import open_neighbours
    from malaprop.assets.wordnet import open_wordnet

    near = open_neighbours("counter-fitted").of(word)[0][:nearest] if nearest else ()
    return tuple(dict.fromkeys((*open_wordnet().synonyms(word), *near)))
