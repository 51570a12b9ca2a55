"""Replacements that a reader cannot see: they are drawn like the word, and encoded as something else.

After Boucher, Shumailov, Anderson, Papernot 2022, "Bad characters: imperceptible NLP attacks".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from malaprop.attacks.candidates.lookup import remembered
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints

_PLACES = 64  # of a word, at most, at which something is put in
ZERO_WIDTH = "\u200b\u200c\u200d"  # space, non-joiner, joiner
BACKSPACE = "\b"  # a renderer that heeds it takes the character before it away
_PRINTED = "".join(map(chr, range(ord("!"), ord("~") + 1)))
# Bidirectional controls around two characters, of which the second is stored first and drawn last: LRO LRI RLO LRI .
# PDI LRI . PDI PDF PDI PDF, as Unicode's standard annex 9 reads them.
_BEFORE, _BETWEEN, _BEHIND = "\u202d\u2066\u202e\u2066", "\u2069\u2066", "\u2069\u202c\u2069\u202c"


def swap_unseen(one: str, two: str) -> str:
    """Return two characters stored in reverse order with control characters, so that they are drawn in this order."""
    return f"{_BEFORE}{two}{_BETWEEN}{one}{_BEHIND}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvisibleCharacters:
    """The word with a character of no width between two of its letters."""

    characters: str = ZERO_WIDTH

    def __post_init__(self) -> None:
        if not self.characters:
            raise SettingError(
                "InvisibleCharacters.characters is empty; name at least one character, or leave the setting out"
            )

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings = trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("invisible", self, w), w, lambda w=w: self._make(w), cased=False)  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]

    def _make(self, word: str) -> Iterator[str]:
        for i in range(1, min(len(word), _PLACES + 1)):
            yield from (word[:i] + mark + word[i:] for mark in self.characters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorderings:
    """The word with two neighbouring letters stored in the other order, and control characters that draw them back."""

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings = trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("reordered", w), w, lambda w=w: _reorder(w), cased=False)  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]


def _reorder(word: str) -> Iterator[str]:
    for i in range(min(len(word) - 1, _PLACES)):
        if word[i] != word[i + 1]:
            yield word[:i] + swap_unseen(word[i], word[i + 1]) + word[i + 2 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletions:
    """Insert a random character and a backspace after it; at each place `each` characters, drawn by the seed."""

    each: int = 1

    def __post_init__(self) -> None:
        if self.each < 1:
            raise SettingError(f"Deletions.each must be at least 1, got {self.each}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings = trial.origin.table, trial.origin.strings
        return [
            table.ids(sorted(set(self._make(strings[slot], trial.generator("deletions", str(slot))))))
            for slot in slots.tolist()
        ]

    def _make(self, word: str, rng: np.random.Generator) -> Iterator[str]:
        places = min(len(word) + 1, _PLACES)
        drawn = rng.integers(len(_PRINTED), size=(places, self.each)).tolist()
        for i, marks in enumerate(drawn):
            yield from (word[:i] + _PRINTED[mark] + BACKSPACE + word[i:] for mark in marks)
