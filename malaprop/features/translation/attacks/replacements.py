"""Replacements for the words of a source: the victim's vocabulary, typos, synonyms, or other forms of a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.catalogue import Catalogue
from malaprop.core.errors import SettingError

REPLACEMENTS: Catalogue = Catalogue(
    "replacement",
    {
        "vocabulary": "malaprop.features.translation.attacks.replacements:Vocabulary",
        "typos": "malaprop.features.translation.attacks.replacements:Typos",
        "synonyms": "malaprop.features.translation.attacks.replacements:Synonyms",
        "inflections": "malaprop.features.translation.attacks.replacements:OtherForms",
    },
)


class SourceReplacements(Protocol):
    """A source of replacements for a word."""

    def of(self, word: str, rng: np.random.Generator, most: int) -> list[str]:
        """Return at most `most` replacements, without the word itself; equal generators give equal ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Replaces a word by any word that the victim knows from its training sources."""

    words: Sequence[str]

    def of(self, word: str, rng: np.random.Generator, most: int) -> list[str]:
        count = len(self.words)
        if not count:
            raise SettingError("there are no words to sweep over; give data with sources")
        picked = range(count) if count <= most else np.sort(rng.choice(count, most, replace=False)).tolist()
        made = dict.fromkeys(recase(self.words[i], word) for i in picked)
        made.pop(word, None)
        return list(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Typos:
    """Replaces a word by misspellings that people made of it."""

    def of(self, word: str, rng: np.random.Generator, most: int) -> list[str]:
        from malaprop.assets.lexicon import misspellings

        known = misspellings().get(word.lower(), ())
        made = dict.fromkeys(recase(wrong, word) for wrong in known)
        made.pop(word, None)
        return _some(list(made), rng, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonyms:
    """Replaces a word by its nearest neighbours among counter-fitted vectors."""

    def of(self, word: str, rng: np.random.Generator, most: int) -> list[str]:
        from malaprop.assets.vectors import open_neighbours

        near = open_neighbours("counter-fitted")
        row = near.vectors.index.get(word.lower(), -1)
        if row < 0:
            return []
        known = near.vectors.words
        made = dict.fromkeys(recase(known[i], word) for i in near.table[row].tolist())
        made.pop(word, None)
        return _some(list(made), rng, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherForms:
    """Replaces a word by its inflections as a noun, a verb or an adjective (Tan et al. 2020)."""

    def of(self, word: str, rng: np.random.Generator, most: int) -> list[str]:
        from malaprop.attacks.candidates.lookup import inflect_all

        made = dict.fromkeys(recase(form, word) for part in "nva" for form in inflect_all(word, part))
        made.pop(word, None)
        return _some(list(made), rng, most)


def _some(found: list[str], rng: np.random.Generator, most: int) -> list[str]:
    if len(found) <= most:
        return found
    return [found[i] for i in np.sort(rng.choice(len(found), most, replace=False)).tolist()]
