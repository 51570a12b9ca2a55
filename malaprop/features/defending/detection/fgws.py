"""Frequency-guided word substitutions (Mozes et al. 2021): attacks put rare words in; frequent ones undo the harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.errors import SettingError
from malaprop.core.text import Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.features.defending.detection.near import count_words, find_neighbours, ids_of, read_counts
from malaprop.features.defending.detection.suspicion import Learnt, Lessons, Numbers, ask

_SHARES = tuple(range(10, 100, 5))  # percentiles of word frequencies that are tried as the border of rare words


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyGuided:
    """The fall of the predicted label's probability when more frequent neighbours replace rare words.

    Frequencies are counts in the texts it is fitted on. A word is rare below the `rare`-th percentile of all words'
    frequencies; 0: the percentile that tells the adversarial texts of the fit best, or the 80th where there are none.
    Neighbours are WordNet's synonyms and the `nearest` words of counter-fitted space (the paper has GloVe's).
    """

    rare: float = 0.0
    nearest: int = 8
    needs_attacked: ClassVar[bool] = False
    counts_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.rare < 100 or self.nearest < 0:
            raise SettingError(
                f"fgws needs 0 <= rare < 100, a percentile, and nearest >= 0, got {self.rare} and {self.nearest}"
            )

    def check(self, victim: Victim) -> None:
        """Accept any victim with scores."""

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        counted = count_words(lessons.corpus)
        many = counted.arrays["counts"]
        border = _find_border(many, self.rare or 80)
        if not self.rare and lessons.attacked:
            border = self._choose(victim, lessons, counted)
        return Learnt({"counts": many, "border": np.asarray([border], np.int64)}, counted.words)

    def _choose(self, victim: Victim, lessons: Lessons, counted: Learnt) -> int:
        """Return the count below which words are rare that best separates clean from adversarial texts, by AUC."""
        from malaprop.features.defending.detection.rates import find_auc

        borders = sorted({_find_border(counted.arrays["counts"], share) for share in _SHARES})

        def tell(border: int) -> float:
            clean = self._drops(victim, counted, border, lessons.clean, exact=False)
            attacked = self._drops(victim, counted, border, lessons.attacked, exact=False)
            return find_auc(clean.tolist(), attacked.tolist()).value

        return max(borders, key=tell)

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        return self._drops(victim, learnt, int(learnt.arrays["border"][0]), texts, exact=exact)

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        del victim, learnt, text
        return 1

    def _drops(self, victim: Victim, learnt: Learnt, border: int, texts: Sequence[Text], *, exact: bool) -> Numbers:
        groups = [self._replace(text, learnt, border) for text in texts]
        found = np.exp(ask(victim, groups, exact=exact)).reshape(len(texts), 2, -1)
        label = found[:, 0].argmax(1)
        each = np.arange(len(texts))
        return np.asarray(found[each, 0, label] - found[each, 1, label])

    def _replace(self, text: Text, learnt: Learnt, border: int) -> Variants:
        """Return the text itself, and the text with every rare word replaced by its most frequent neighbour."""
        nearest = self.nearest
        found = [_find_frequent(learnt, word, border, nearest) for word in text.strings]
        slots = np.asarray([slot for slot, word in enumerate(found) if word], np.int64)
        words = ids_of(text.table, [word for word in found if word])
        return Variants(text, slots, words, np.ones(len(slots), np.int64), 2)


@lru_cache(maxsize=1 << 16)
def _find_frequent(learnt: Learnt, word: str, border: int, nearest: int) -> str:
    """Return the most frequent neighbour of a word rarer than `border`; empty where none is more frequent than it."""
    known, low = read_counts(learnt), word.lower()
    mine = known.get(low, 0)
    if mine >= border or not low.isalpha():
        return ""
    best = max(find_neighbours(low, nearest), key=lambda other: (known.get(other, 0), other), default=low)
    return recase(best, word) if known.get(best, 0) > mine else ""


def _find_border(many: Any, share: float) -> int:
    return int(np.ceil(np.percentile(many, share))) if len(many) else 0
