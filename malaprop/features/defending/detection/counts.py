"""How often words occur in the texts that a detector was fitted on, and which words may stand for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from malaprop.core.text import Ints, Words, word_pattern
from malaprop.core.victim import Fields
from malaprop.features.defending.detection.suspicion import Learnt


def count_words(corpus: Sequence[Fields]) -> Learnt:
    """The words of these texts in small letters, and their counts."""
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
    """Words that may stand for another: synonyms of WordNet, and the nearest of counter-fitted space."""
    from malaprop.assets.vectors import open_neighbours
    from malaprop.assets.wordnet import open_wordnet

    near = open_neighbours("counter-fitted").of(word)[0][:nearest] if nearest else ()
    return tuple(dict.fromkeys((*open_wordnet().synonyms(word), *near)))
