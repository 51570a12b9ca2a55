"""Constraints on what a replacement means, by WordNet: no antonym, a shared sense, names left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.score import Flags
from malaprop.core.text import Ints

_NEGATIONS = frozenset({"no", "not", "never", "nothing", "none", "nobody", "hardly", "barely", "without", "nor"})


def _judge(
    trial: Trial, name: str, slots: Ints, words: Sequence[Ints], fits: Callable[[str, str], bool]
) -> list[Flags]:
    """For each slot which replacements fit its word; kept with the table, for words come again."""
    table, here = trial.origin.table, trial.origin.words
    known: dict[tuple[int, int], bool] = table.notes.setdefault(("fits", name), {})
    out = []
    for word, options in zip(here[slots].tolist(), words, strict=True):
        for option in options.tolist():
            if (word, option) not in known:
                known[word, option] = fits(table.strings[word], table.strings[option])
        out.append(np.fromiter((known[word, option] for option in options.tolist()), np.bool_, len(options)))
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOpposed:
    """The replacement does not say the contrary: no antonym over WordNet's senses and roots, no prefix that negates.

    A replacement of several words, as where one is put in beside, must not bring in a negation.
    """

    stage: ClassVar[Literal["word"]] = "word"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.relations import open_relations

        relations = open_relations()

        def fits(word: str, other: str) -> bool:
            if " " in other:
                return _NEGATIONS.isdisjoint({*other.lower().split()} - {word.lower()})
            return not relations.are_opposed(word, other)

        return _judge(trial, "not-opposed", slots, words, fits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """The replacement shares a sense with the word in WordNet, or a sense that is similar, or one of the same root.

    Near words of a vector space are words of like company: *formulaic* and *spellbinding* are. What is put in beside a
    word is let through.
    """

    stage: ClassVar[Literal["word"]] = "word"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.relations import open_relations

        relations = open_relations()
        return _judge(trial, "related", slots, words, lambda a, b: " " in b or relations.are_related(a, b))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepNames:
    """Names stay: words tagged as such, words that WordNet writes with a capital alone, and a noun behind one of these.

    The last two are for texts in lower case: *james bond*.
    """

    stage: ClassVar[Literal["word"]] = "word"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        tags = yield from trial.tags()
        names = _find_names(trial.origin.strings, tags)
        return [np.full(len(options), not names[s], np.bool_) for s, options in zip(slots.tolist(), words, strict=True)]


def _find_names(strings: Sequence[str], tags: Sequence[str]) -> list[bool]:
    from malaprop.assets.wordnet import open_wordnet

    wordnet = open_wordnet()
    names: list[bool] = []
    for word, tag in zip(strings, tags, strict=True):
        sole = tag in ("NOUN", "PROPN") and wordnet.is_name(word)
        behind = bool(names) and names[-1] and tag in ("NOUN", "PROPN")
        names.append(tag == "PROPN" or sole or behind)
    return names
