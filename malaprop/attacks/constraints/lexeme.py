"""Another lexeme, not another form of the same word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.score import Flags
from malaprop.core.text import Ints, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLexeme:
    """The replacement is no other form of the word: by WordNet they share no base form (Ebrahimi et al. 2018)."""

    stage: ClassVar[Literal["word"]] = "word"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, here = trial.origin.table, trial.origin.words
        return [
            np.asarray([not (bases(table, int(here[s])) & bases(table, w)) for w in options.tolist()], np.bool_)
            for s, options in zip(slots.tolist(), words, strict=True)
        ]


def bases(table: Words, word: int) -> frozenset[str]:
    """The base forms that a word may be a form of, itself among them; kept with the table."""
    found: frozenset[str] | None = table.notes.get(("lexeme", word))
    if found is None:
        from malaprop.assets.wordnet import PARTS, open_wordnet

        wordnet, lower = open_wordnet(), table.strings[word].lower()
        found = frozenset({lower, *(base for part in PARTS for base in wordnet.bases(lower, part))})
        table.notes["lexeme", word] = found
    return found
