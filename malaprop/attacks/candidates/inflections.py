"""Replacements that are other forms of the same word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from malaprop.attacks.candidates.lookup import WORDNET_PART, remembered
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.text import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflections:
    """Every inflection of the word in its own part of speech: nouns, verbs and adjectives (Tan et al. 2020)."""

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        tags = yield from trial.tags()
        table, strings = trial.origin.table, trial.origin.strings
        out = []
        for slot in slots.tolist():
            word, part = strings[slot], WORDNET_PART.get(tags[slot], "")
            make = (lambda w=word, p=part: inflect_all(w, p)) if part else tuple
            out.append(remembered(table, ("inflections", word, part), word, make))
        return out


def inflect_all(word: str, part: str) -> Iterator[str]:
    """The forms of every base form that the word may be a form of, in lower case."""
    from malaprop.assets.inflection import list_forms
    from malaprop.assets.wordnet import open_wordnet

    wordnet = open_wordnet()
    for base in wordnet.bases(word.lower(), part):
        yield from list_forms(wordnet, base, part).values()
