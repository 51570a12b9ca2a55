"""Restore the spelling of a text: remove invisible characters, replace look-alikes, correct misspelt words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from malaprop.assets.plain_letters import make_plain, strip_unseen
from malaprop.attacks.candidates.lookup import recase
from malaprop.core.text import word_pattern

_COMMON = 20_000  # the most frequent words are never corrected by frequency alone ...
_RATIO = 20  # times as frequent a correction must be
_TARGETS = 60_000  # words that corrections are chosen from
_LEAST = 3  # letters of a word that is corrected by its letters; shorter ones are all one edit from some word
_OPTIONS = 16  # the most corrections of a word
_SLIP = 1.0  # what a slip costs a correction, as the logarithm of a chance ...
_FIRST = 1.0  # ... and one at the first letter
_UNLISTED = 2.0  # ... and a correction of a known misspelling that is not among its known ones
_PART = re.compile(r"[^\W_]+")
_CONTRACTED = re.compile("([a-z]+)(?:n['\\u2019]t|['\\u2019](?:ve|re|ll|d|m))")
_SHORTENED = re.compile("([a-z]+)['\\u2019](?:ve|re|ll|d|m|s)")
# Stop words that is, has, will or an owner's s may follow; no other stop word has these behind it.
_BEFORE_SHORT = re.compile(
    "he|here|how|i|it|let|now|she|so|that|there|they|this|those|these|we|what|when|where|which|who|why|you|"
    "another|both|each|few|more|most|once|other|some|then"
)
_LETTER_WORDS = ("a", "i")  # the words of one letter, which lists of vectors leave out


@cache
def _slang() -> Mapping[int, str]:
    from malaprop.assets.lexicon import digits_alike

    found: dict[str, str] = {}
    for letter, alike in digits_alike().items():
        for sign in alike:
            found.setdefault(sign, letter)
    return str.maketrans(found)


class Doubt(NamedTuple):
    """A word that may be misspelt: where it stands in a text, and the words that may be meant, the likeliest first."""

    start: int
    end: int
    options: tuple[str, ...]
    doubts: tuple[float, ...]  # of each option the cost of that misspelling, a negative log-probability


@dataclass(frozen=True, slots=True, eq=False)
class Speller:
    """Finds and corrects misspelt words by the `ranks` of known words, the most frequent first, and known misspellings.

    A word is in doubt where another one is an edit away, or known to be misspelt so, and far more frequent. What is
    frequent or in a dictionary (`listed`) stays, and so does what is near to nothing, as names are. Corrections are
    frequent words and those of the dictionary.
    """

    ranks: Mapping[str, int]
    misspelt: Mapping[str, tuple[str, ...]]
    listed: Callable[[str], bool]
    _near: dict[str, list[str]] = field(default_factory=dict)  # words by what is left of them without a letter
    _known: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    _frequent: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        wrong: Mapping[str, tuple[str, ...]],
        listed: Callable[[str], bool] = lambda _: False,
    ) -> Speller:
        ranks = {word: rank for rank, word in reversed(list(enumerate(words)))}
        misspelt: dict[str, list[str]] = {}
        for right in sorted(wrong, key=lambda word: (ranks.get(word, len(ranks)), word)):
            for one in wrong[right]:
                misspelt.setdefault(one, []).append(right)
        made = cls(ranks, {one: tuple(rights[:_OPTIONS]) for one, rights in misspelt.items()}, listed)
        for word, rank in ranks.items():
            if len(word) >= _LEAST and word.isalpha() and (rank < _TARGETS or listed(word)):
                for left in {word, *_without_one(word)}:
                    made._near.setdefault(left, []).append(word)
        return made

    def restore(self, text: str) -> str:
        """Return the text with every doubtful word corrected by frequency alone."""
        clean = make_clean(text)
        doubts = self.find_doubts(clean)
        return put_words(clean, [doubt.options[0] for doubt in doubts], doubts)

    def find_doubts(self, clean: str) -> list[Doubt]:
        """Return the doubtful words of a cleaned text, each part of a hyphenated word by itself."""
        out = []
        for found in word_pattern().finditer(clean):
            low = found[0].lower()
            whole = self._rank(low) < _TARGETS or self._is_contraction(low) or bool(self._find_whole(low))
            for part in [found] if whole else _PART.finditer(clean, *found.span()):
                if options := self._options(part[0].lower()):
                    cased = tuple(recase(option, part[0]) for option, _ in options)
                    out.append(Doubt(*part.span(), cased, tuple(doubt for _, doubt in options)))
        return out

    def _is_contraction(self, low: str) -> bool:
        """Return whether a word is a known one followed by n't, 've and the like."""
        found = _CONTRACTED.fullmatch(low)
        return found is not None and self._rank(found[1]) < _COMMON and not _is_miscontracted(low)

    def _find_whole(self, low: str) -> list[str]:
        """Return corrections of an unknown word with other signs than letters, as and's, 0f and i'ts."""
        if low.isalpha() or self._rank(low) < _TARGETS:  # long lists of words have many that nobody writes
            return []
        known = [word for word in self.misspelt.get(low, ()) if self._rank(word) < _COMMON]
        if short := _SHORTENED.fullmatch(low):
            return list(dict.fromkeys([short[1], *known])) if _is_miscontracted(low) else []
        return known

    def find_alternatives(self, clean: str) -> list[Doubt]:
        """Return the words of a text that a slip may have made of a frequent word, correctly spelt ones too."""
        out = []
        for found in word_pattern().finditer(clean):
            low = found[0].lower()
            if options := self._find_frequent(low) if low.isalpha() else ():
                cased = tuple(recase(option, found[0]) for option, _ in options)
                out.append(Doubt(*found.span(), cased, tuple(doubt for _, doubt in options)))
        return out

    def guess_chance(self, word: str) -> float:
        """Return the log-probability of a word by its rank alone, after Zipf: a tenth of one over the rank."""
        return -math.log(10 * (min(self._rank(word.lower()), len(self.ranks)) + 1))

    def _find_frequent(self, low: str) -> tuple[tuple[str, float], ...]:
        known = self._frequent.get(low)
        if known is None:
            if len(self._frequent) > 1 << 18:
                self._frequent.clear()
            known = self._frequent[low] = tuple(self._weigh(low, lambda word: self._rank(word) < _COMMON))
        return known

    def _options(self, low: str) -> tuple[tuple[str, float], ...]:
        known = self._known.get(low)
        if known is None:
            if len(self._known) > 1 << 18:
                self._known.clear()
            known = self._known[low] = tuple(self._find(low))
        return known

    def _find(self, low: str) -> list[tuple[str, float]]:
        rank = self._rank(low)
        if rank < _COMMON or self.listed(low):
            return []
        if whole := self._find_whole(low):
            return [(word, 0.0) for word in whole]
        if not low.isalpha():
            spelled = low.translate(_slang())
            slang = len(low) >= _LEAST and 2 * sum(map(str.isalpha, low)) >= len(low) and low not in self.ranks
            return [(spelled, 0.0)] if slang and spelled.isalpha() and self._rank(spelled) < _COMMON else []
        return self._weigh(low, lambda word: (self._rank(word) + 1) * _RATIO < rank)

    def _weigh(self, low: str, fits: Callable[[str], bool]) -> list[tuple[str, float]]:
        """Return the likeliest words that `fits` accepts and `low` misspells or is an edit away from, with costs."""
        found = dict.fromkeys(self.misspelt.get(low, ()), 0.0)
        unlisted = _UNLISTED if found else 0.0
        if len(low) >= _LEAST:
            for other in self._candidates(low):
                found.setdefault(other, doubt_edit(low, other) + unlisted)
        weights = {word: math.log(self._rank(word) + 1) + doubt for word, doubt in found.items() if fits(word)}
        return [(word, found[word]) for word in sorted(weights, key=lambda word: (weights[word], word))[:_OPTIONS]]

    def _rank(self, word: str) -> int:
        return self.ranks.get(word, 1 << 40)

    def _candidates(self, low: str) -> Iterator[str]:
        """Yield the known words one edit away: a letter inserted, deleted, changed or swapped with the next."""
        for left in {low, *_without_one(low)}:
            for other in self._near.get(left, ()):
                if other != low and is_one_edit(low, other):
                    yield other


def _is_miscontracted(low: str) -> bool:
    """Return whether 's, 'll and the like follow a word that they never follow: and's, is'll, him's."""
    from malaprop.assets.lexicon import stop_words

    found = _SHORTENED.fullmatch(low)
    return found is not None and found[1] in stop_words() and not _BEFORE_SHORT.fullmatch(found[1])


def make_clean(text: str) -> str:
    """Return the text as it is displayed, with look-alike letters in plain Latin."""
    return word_pattern().sub(lambda found: make_plain(found[0]), strip_unseen(text))


def put_words(clean: str, words: Sequence[str], doubts: Sequence[Doubt]) -> str:
    """Return the text with the doubtful words replaced by these words."""
    out, at = [], 0
    for doubt, word in zip(doubts, words, strict=True):
        out += [clean[at : doubt.start], word]
        at = doubt.end
    return "".join([*out, clean[at:]])


def doubt_edit(low: str, other: str) -> float:
    """Return the cost of the slip between two words: swapped neighbours and adjacent keys are the cheapest."""
    from malaprop.assets.lexicon import keyboard

    if len(low) != len(other):
        return _SLIP + (_FIRST if low[:1] != other[:1] else 0.0)
    apart = [at for at in range(len(low)) if low[at] != other[at]]
    if len(apart) == 2:
        return _SLIP / 2
    near = low[apart[0]] in keyboard().get(other[apart[0]], ())
    return (_SLIP if near else 2 * _SLIP) + (_FIRST if apart[0] == 0 else 0.0)


def _without_one(word: str) -> set[str]:
    return {word[:at] + word[at + 1 :] for at in range(len(word))}


def is_one_edit(one: str, other: str) -> bool:
    """Return whether two words differ by one letter inserted, deleted or changed, or by two neighbours swapped."""
    if abs(len(one) - len(other)) > 1:
        return False
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i in range(len(one)) if one[i] != other[i]), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    return one[at + 1 :] == other[at + 1 :] or (len(one) - at >= 2 and swapped)


@cache
def open_speller() -> Speller:
    """Open the speller of the packaged words by frequency, WordNet, and the known misspellings."""
    from malaprop.assets.lexicon import misspellings
    from malaprop.assets.vectors import open_vectors
    from malaprop.assets.wordnet import PARTS, open_wordnet

    usual, known = open_wordnet().usual, (1 << len(PARTS)) - 1
    words = [*_LETTER_WORDS, *open_vectors("glove").words]
    return Speller.of(words, misspellings(), lambda word: bool(usual(word) & known))
