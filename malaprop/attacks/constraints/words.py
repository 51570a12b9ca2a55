"""Constraints on a replacement and the word it replaces: meaning and part of speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np

from malaprop.assets.wordnet import NEITHER, PARTS
from malaprop.attacks.candidates.lookup import WORDNET_PART
from malaprop.attacks.partmarks import Bits
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags, Floats
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCosine:
    """The two words' vectors have at least this cosine; a word without a vector fails."""

    floor: float = 0.7
    vectors: str = "counter-fitted"
    stage: ClassVar[Literal["word"]] = "word"

    def __post_init__(self) -> None:
        if not -1 <= self.floor <= 1:
            raise SettingError(f"WordCosine.floor must lie in [-1, 1], got {self.floor}")

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.vectors import open_vectors

        vectors, strings, table = open_vectors(self.vectors), trial.origin.strings, trial.origin.table.strings
        out = []
        for slot, options in zip(slots.tolist(), words, strict=True):
            cosines = vectors.cosine(strings[slot].lower(), [table[w].lower() for w in options.tolist()])
            out.append(np.nan_to_num(cosines, nan=-2.0) >= self.floor)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanVector:
    """The mean of the words' vectors lies at most `most` from that of the original, as thought vectors do (Kuleshov et
    al. 2018). Words without a vector count for nothing."""

    most: float = 0.2
    vectors: str = "counter-fitted"
    stage: ClassVar[Literal["edit"]] = "edit"

    def __post_init__(self) -> None:
        if self.most < 0:
            raise SettingError(f"MeanVector.most must be at least 0, got {self.most}")

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        origin, base = trial.origin.words, variants.base.words
        every, where = np.unique(np.concatenate([origin, base, variants.words]), return_inverse=True)
        rows, known = self._rows(trial, every)
        first, start, put = np.split(where, [len(origin), len(origin) + len(base)])
        had = start[variants.slots]
        totals = np.repeat(rows[start].sum(0)[None], variants.count, 0)
        counts = np.full(variants.count, known[start].sum())
        owners = np.arange(variants.count) if variants.rows is None else variants.rows
        np.add.at(totals, owners, rows[put] - rows[had])
        np.add.at(counts, owners, known[put].astype(np.int64) - known[had])
        apart = totals / np.maximum(counts, 1)[:, None] - rows[first].sum(0) / max(1, int(known[first].sum()))
        return np.asarray(np.linalg.norm(apart, axis=1) <= self.most + 1e-6)

    def _rows(self, trial: Trial, words: Ints) -> tuple[Floats, Flags]:
        from malaprop.assets.vectors import open_vectors

        strings = trial.origin.table.strings
        return open_vectors(self.vectors).raw([strings[word] for word in words.tolist()])


@cache
def _bits(nouns_for_verbs: bool) -> dict[str, int]:
    """Return the parts of speech, as bits, that may replace a word of each tag."""
    own = {tag: 1 << PARTS.index(part) for tag, part in WORDNET_PART.items()}
    either = 1 << PARTS.index("n") | 1 << PARTS.index("v")
    return {tag: either if nouns_for_verbs and bit & either else bit for tag, bit in own.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SamePart:
    """The replacement usually is of the part of speech that the word has in its text.

    The word is tagged in context; the replacement by WordNet's counts of its uses (at least 30% of them), which costs
    no query and no tagging. With `nouns_for_verbs` the two may stand for each other (Jin et al. 2019).
    """

    nouns_for_verbs: bool = False
    stage: ClassVar[Literal["part"]] = "part"

    def parts(self, trial: Trial, slots: Ints) -> Steps[Bits]:
        tags = yield from trial.tags()
        bits = _bits(self.nouns_for_verbs)
        return np.fromiter((bits.get(tags[slot], NEITHER) for slot in slots.tolist()), np.uint8, len(slots))


@dataclass(frozen=True, slots=True, kw_only=True)
class SameTag:
    """The tagger, reading the changed text, gives every changed slot the tag it had."""

    nouns_for_verbs: bool = False
    stage: ClassVar[Literal["text"]] = "text"

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        first = yield from trial.tags()
        tags = yield Ask("tags", list(texts))
        return np.asarray(
            [
                all(self._same(first[s], now[s]) for s in text.changed(trial.origin).tolist())
                for text, now in zip(texts, tags, strict=True)
            ],
            np.bool_,
        )

    def _same(self, one: str, two: str) -> bool:
        pair = {WORDNET_PART.get(t, t) for t in (one, two)}
        return len(pair) == 1 or (self.nouns_for_verbs and pair == {"n", "v"})
