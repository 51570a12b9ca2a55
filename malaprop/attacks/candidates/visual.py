"""Replacements that look much like the word, and show when looked at closely."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from malaprop.attacks.candidates.lookup import remembered
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints

_PLACES = 64  # of a word, at most, where a letter is changed


@cache
def near_letters(most: int | None = None) -> dict[str, tuple[str, ...]]:
    """For each letter those that look most like it."""
    from malaprop.assets.lexicon import visual_neighbours

    return {letter: near[:most] for letter, near in visual_neighbours().items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualNeighbours:
    """One letter of the word with an accent, or put for one of another script (after Eger et al. 2019).

    `most` neighbours of each letter are offered: an accent, then look-alikes of other alphabets, then other accents.
    """

    most: int = 12

    def __post_init__(self) -> None:
        if self.most < 1:
            raise SettingError(f"VisualNeighbours.most must be at least 1, got {self.most}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings = trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("visual", self, w), w, lambda w=w: self._make(w), cased=False)  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]

    def _make(self, word: str) -> Iterator[str]:
        near = near_letters(self.most)
        for i, letter in enumerate(word[:_PLACES]):
            yield from (word[:i] + other + word[i + 1 :] for other in near.get(letter, ()))
