"""Constraints on a replacement and the word it replaces: meaning and part of speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from malaprop.assets.wordnet import PARTS, WordNet
from malaprop.attacks.candidates.lookup import WORDNET_PART
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Ints, Text, Words

_UNSEEN = 255  # no word is of eight parts of speech


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
class SamePart:
    """The replacement can be of the part of speech that the word has in its text.

    The word is tagged in context; the replacement by what WordNet lists for it, which costs no query and no tagging of
    every candidate. With `nouns_for_verbs` the two may stand for each other (Jin et al. 2019).
    """

    nouns_for_verbs: bool = False
    stage: ClassVar[Literal["word"]] = "word"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        from malaprop.assets.wordnet import open_wordnet

        tags = yield from trial.tags()
        marks = _marks(open_wordnet(), trial.origin.table, np.concatenate(words))
        out = []
        for slot, options in zip(slots.tolist(), words, strict=True):
            part = WORDNET_PART.get(tags[slot], "")
            wanted = ("n", "v") if self.nouns_for_verbs and part in ("n", "v") else (part,) if part else ()
            bits = sum(1 << PARTS.index(p) for p in wanted)
            out.append((marks[options] & bits) > 0 if wanted else marks[options] == 0)
        return out


def _marks(wordnet: WordNet, table: Words, wanted: Ints) -> NDArray[np.uint8]:
    """The parts of speech of every word of a table, as bits, for these words at least; kept with the table."""
    marks: NDArray[np.uint8] = table.notes.get("parts of speech", np.empty(0, np.uint8))
    if len(marks) < len(table):
        marks = np.concatenate([marks, np.full(2 * len(table) - len(marks), _UNSEEN, np.uint8)])
        table.notes["parts of speech"] = marks
    for word in np.unique(wanted[marks[wanted] == _UNSEEN]).tolist():
        marks[word] = wordnet.marks(table.strings[word])
    return marks


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
