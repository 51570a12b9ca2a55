"""Guards of what a text says: words of grammar, of quantity and of negation stay, and so do form and polarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from malaprop.assets.inflection import find_marks
from malaprop.assets.wordnet import PARTS, WordNet
from malaprop.attacks.candidates.lookup import WORDNET_PART
from malaprop.attacks.constraints.meaning import judge_pairs
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Ints

_OF_GRAMMAR = frozenset({"ADP", "AUX", "CCONJ", "DET", "INTJ", "NUM", "PART", "PRON", "SCONJ", "SYM", "X"})  # tags


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepFunctionWords:
    """Words of grammar stay, and no word becomes one: pronouns, prepositions, conjunctions, auxiliaries and the like.

    By a list (`lexicon.function_words`), and by the tag that the word has in its text: *like* stays as a preposition
    and may change as a verb.
    """

    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        from malaprop.assets.lexicon import function_words

        tags, listed = (yield from trial.tags()), function_words()
        strings = trial.origin.strings
        open_slots = [strings[s].lower() not in listed and tags[s] not in _OF_GRAMMAR for s in slots.tolist()]
        flags = judge_pairs(trial, "function-words", slots, words, lambda _, other: _adds_none(other, listed))
        return [fine & free for fine, free in zip(flags, open_slots, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepQuantities:
    """What counts, compares, orders, dates, negates or hedges stays, and no other word becomes such a word.

    Numbers, *few*, *all*, *most*, *never*, *without*, *hardly*, *first*, *last*, *may*, and colours: see
    `lexicon.quantity_words`.
    """

    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.lexicon import is_quantity

        def fits(word: str, other: str) -> bool:
            return not is_quantity(word) and not any(map(is_quantity, _added(word, other)))

        return judge_pairs(trial, "quantities", slots, words, fits)


def _added(word: str, other: str) -> set[str]:
    """Return the words that a replacement brings in, in lower case: those of an insertion beside the word, too."""
    return {*other.lower().split()} - {word.lower()}


def _adds_none(other: str, listed: frozenset[str]) -> bool:
    return " " in other or other.lower() not in listed


@dataclass(frozen=True, slots=True, kw_only=True)
class SameForm:
    """The replacement has the part of speech and the inflection that the word has in its text.

    A film is not replaced by *movies*, *mediocre* not by *fresher*, *makes* not by *create*. By WordNet's base forms,
    its lists of irregular forms and the rules of spelling. To be given candidates in the right form, wrap them in
    `Agreeing`. Insertions beside a word pass.
    """

    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        from malaprop.assets.wordnet import open_wordnet

        tags, wordnet = (yield from trial.tags()), open_wordnet()
        parts = [WORDNET_PART.get(tags[slot], "") for slot in slots.tolist()]
        out: list[Flags] = [np.zeros(len(options), np.bool_) for options in words]
        for part in {*parts} - {""}:
            those = [i for i, other in enumerate(parts) if other == part]
            some = [words[i] for i in those]
            flags = judge_pairs(
                trial, f"same-form-{part}", slots[those], some, partial(_has_form, wordnet=wordnet, part=part)
            )
            for i, fine in zip(those, flags, strict=True):
                out[i] = fine
        return out


def _has_form(word: str, other: str, *, wordnet: WordNet, part: str) -> bool:
    if " " in other:
        return True
    usual = wordnet.usual(other)
    if part == "a" and not usual >> PARTS.index(part) & 1 and word.endswith(("ing", "ed")):
        part = "v"  # a participle tagged as an adjective
    wanted = _find_marks(wordnet, word, part)
    return bool(usual >> PARTS.index(part) & 1) and (not wanted or bool(wanted & _find_marks(wordnet, other, part)))


def _find_marks(wordnet: WordNet, word: str, part: str) -> frozenset[str]:
    """Return the forms that a word can be; *elements* is a plural, though WordNet lists it as a word, too."""
    marks = find_marks(wordnet, word, part)
    return marks - {""} if any(base != word.lower() for base in wordnet.bases(word, part)) else marks


@dataclass(frozen=True, slots=True, kw_only=True)
class SamePolarity:
    """The replacement judges as the word does: not good for bad, not weak for strong, not neutral for strong.

    The valence of a word lies between -4 and 4 (see `assets.polarity`). Two words are refused that lie more than
    `most` apart, more than `alike` where both are on one side, at least `clear` from 0; and so are two that are clearly
    on different sides. A word that the table lacks is rare and replaces no other.
    """

    most: float = 1.6
    alike: float = 2.0
    clear: float = 0.5
    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def __post_init__(self) -> None:
        if min(self.most, self.alike) <= 0 or self.clear < 0:
            raise SettingError(f"SamePolarity needs most > 0, alike > 0 and clear >= 0, got {self}")

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.polarity import open_polarity

        valence = open_polarity().valence

        def fits(word: str, other: str) -> bool:
            if " " in other:
                return all(abs(valence(more) or 0.0) < self.clear for more in _added(word, other))
            return self.agree(valence(word), valence(other))

        return judge_pairs(trial, str(self), slots, words, fits)

    def agree(self, one: float | None, two: float | None) -> bool:
        """Whether the valence of a replacement is near enough to the word's; None: the table does not know it."""
        if two is None:
            return False
        one = one or 0.0
        both = min(abs(one), abs(two)) >= self.clear
        if both and one * two < 0:
            return False
        return abs(one - two) <= (self.alike if both else self.most)
