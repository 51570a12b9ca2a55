"""Relations between words by WordNet: whether two share a sense, and whether they are opposed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from malaprop.assets import store
from malaprop.assets.wordnet import PARTS, WordNet, open_wordnet

_FILES = ("noun", "verb", "adj", "adv")  # in the order in which the index numbers their synsets
_SIMILAR, _OPPOSED, _ABOVE, _DERIVED = "&", "!", "@", ("+", "\\")  # WordNet's pointers; derived: of the same root
_WANTED = (" & ", " ! ", " @ ", " + ", " \\ ")
_NEGATING = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "mis", "anti", "anti-", "counter", "de")
_REVERSING = (*_NEGATING, "under", "over")  # what these make of a word is never its synonym, but for those below
_NOT_REVERSED = frozenset({"valuable", "flammable", "press", "tense", "part", "habit", "fuse", "form", "sure"})
_OF_ADJECTIVES = re.compile(r"(?:al|ic|ous)$")  # moral and amoral, but not live and alive
_REMEMBERED = 1 << 16


class Relations:
    """Tells by WordNet's pointers whether two words are related or opposed.

    Senses of words of the same root count, and senses similar to these. `unfunny` and `hilariously` are opposed:
    hilariously is of the root of hilarious, which is similar to humorous, an antonym of humorless, to which unfunny is
    similar. All senses of a word count, so some pairs are called opposed that are not so in their text: we would rather
    lose a synonym than accept an antonym.
    """

    def __init__(self, wordnet: WordNet, folder: Path) -> None:
        self.wordnet = wordnet
        self._similar: dict[int, set[int]] = defaultdict(set)
        self._against: dict[int, set[int]] = defaultdict(set)
        self._above: dict[int, set[int]] = defaultdict(set)  # of nouns and verbs: what the sense is a kind of
        self._derived: dict[str, set[int]] = defaultdict(set)
        lines = [line for name in _FILES for line in _read_synsets(folder / f"data.{name}")]
        numbers = {(_part(line[12]), line[:8]): number for number, line in enumerate(lines)}
        for number, line in enumerate(lines):
            head = line.partition(" | ")[0]
            if any(mark in head for mark in _WANTED):
                self._take(number, head.split(), numbers)
        self.around = lru_cache(_REMEMBERED)(self._find_around)
        self.is_negated = lru_cache(_REMEMBERED)(self._find_negated)
        self._against_wide = lru_cache(_REMEMBERED)(self._find_against)
        self._forms = lru_cache(_REMEMBERED)(self._find_forms)

    def _take(self, here: int, fields: list[str], numbers: dict[tuple[str, str], int]) -> None:
        many = int(fields[3], 16)
        words = [word.partition("(")[0].lower() for word in fields[4 : 4 + 2 * many : 2]]
        pointers = fields[5 + 2 * many : 5 + 2 * many + 4 * int(fields[4 + 2 * many])]
        for symbol, offset, kind, between in zip(*(iter(pointers),) * 4, strict=True):
            if symbol == _SIMILAR:
                self._similar[here].add(numbers[_part(kind), offset])
            elif symbol == _OPPOSED:
                there = numbers[_part(kind), offset]
                self._against[here].add(there)
                self._against[there].add(here)
            elif symbol == _ABOVE:
                self._above[here].add(numbers[_part(kind), offset])
            elif symbol in _DERIVED and between != "0000":
                self._derived[words[int(between[:2], 16) - 1]].add(numbers[_part(kind), offset])

    def _find_around(self, word: str) -> frozenset[int]:
        """Return the senses of a word and of the words of its root, and the senses that are similar to these."""
        bases = {word.lower(), *(base for pos in PARTS for base in self.wordnet.bases(word, pos))}
        own = set(self.wordnet.senses(word)).union(*(self._derived.get(base, ()) for base in bases))
        return frozenset(own.union(*(self._similar.get(sense, ()) for sense in own)))

    def _find_negated(self, word: str) -> bool:
        """Whether the word is the opposite of another one by a prefix or by the ending -less: unfunny, humorless."""
        lower = word.lower()
        rests = [lower[len(prefix) :] for prefix in _NEGATING if lower.startswith(prefix)]
        rests += [lower[:-4]] if lower.endswith("less") else []
        if lower.startswith(("un", "non")) and any(len(rest) > 3 and self.wordnet.marks(rest) for rest in rests):
            return True
        against = {other for sense in self.around(word) for other in self._against.get(sense, ())}
        return any(len(rest) > 2 and not against.isdisjoint(self.around(rest)) for rest in rests)

    def _find_against(self, word: str) -> tuple[frozenset[int], frozenset[int]]:
        """Return the antonyms of the senses around a word; and these senses, with what the word's are a kind of."""
        around = self.around(word)
        against = frozenset(other for sense in around for other in self._against.get(sense, ()))
        return against, around.union(*(self._above.get(sense, ()) for sense in self.wordnet.senses(word)))

    def _are_antonyms(self, one: str, two: str) -> bool:
        """Whether a sense around one word is the antonym of a sense around the other, or of what that is a kind of."""
        (ones, here), (twos, there) = self._against_wide(one), self._against_wide(two)
        return not (ones.isdisjoint(there) and twos.isdisjoint(here))

    def _reverses(self, one: str, two: str) -> bool:
        """Whether one word is the other with a prefix that negates, or both differ by -less against -ful or nothing."""
        (ones, made), (twos, back) = self._forms(one), self._forms(two)
        if not (made.isdisjoint(twos) and back.isdisjoint(ones)):
            return True
        return any(self._lacks(a, twos) for a in ones) or any(self._lacks(b, ones) for b in twos)

    def _find_forms(self, word: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the word, its base forms, and of an adverb the adjective; and each with a prefix that reverses it."""
        lower = word.lower()
        found = {lower, *(base for pos in PARTS for base in self.wordnet.bases(lower, pos))}
        stems = frozenset(found | {stem[:-2] for stem in found if stem.endswith("ly") and len(stem) > 5})
        return stems, frozenset(_reverse_each(stems))

    @staticmethod
    def _lacks(stem: str, others: frozenset[str]) -> bool:
        """Whether a stem says that what one of the others names is missing: *hopeless* of *hope* and of *hopeful*."""
        root = stem.removesuffix("less")
        return root != stem and len(root) > 2 and not others.isdisjoint({root, root + "ful", root + "y"})

    def similar_to(self, sense: int) -> frozenset[int]:
        """Return the senses that WordNet calls similar to an adjective's: the head of its cluster, or its members."""
        return frozenset(self._similar.get(sense, ()))

    def kinds_of(self, sense: int) -> frozenset[int]:
        """Return the senses that a noun's or verb's sense is a kind of: of *dog* that of *canine*."""
        return frozenset(self._above.get(sense, ()))

    def derived_from(self, base: str) -> frozenset[int]:
        """Return the senses of other words that a base form is derived from, or that are derived from it."""
        return frozenset(self._derived.get(base, ()))

    def share_root(self, one: str, two: str) -> bool:
        """Whether WordNet derives one of the words from the other, as *viewer* from *view*."""
        for a, b in ((one.lower(), two.lower()), (two.lower(), one.lower())):
            derived = {
                sense for pos in PARTS for base in self.wordnet.bases(a, pos) for sense in self._derived.get(base, ())
            }
            if not derived.isdisjoint(self.wordnet.senses(b)):
                return True
        return False

    def are_related(self, one: str, two: str) -> bool:
        """Whether the words share a sense, or have senses that are similar to the same one."""
        return not self.around(one).isdisjoint(self.around(two))

    def are_opposed(self, one: str, two: str) -> bool:
        """Whether the words are antonyms, or one of them is negated and not a synonym of the other.

        Kinds of what is opposed count: *decline* is a kind of decrease, the antonym of *increase*. So does a word that
        is the other one with a prefix or an ending: *interested* and *disinterested*, *hopeful* and *hopeless*.
        """
        if self._reverses(one, two) or self._are_antonyms(one, two):
            return True
        return self.is_negated(one) != self.is_negated(two) and two.lower() not in self.wordnet.synonyms(one.lower())


def _reverse_each(stems: frozenset[str]) -> set[str]:
    """Return the stems with each prefix that reverses what a word says, whether or not there is such a word."""
    some = stems - _NOT_REVERSED
    made = {prefix + stem for stem in some for prefix in _REVERSING}
    return made | {"a" + stem for stem in some if _OF_ADJECTIVES.search(stem)}


def _part(kind: str) -> str:
    """Return WordNet's part of speech, with satellite adjectives as adjectives."""
    return "a" if kind == "s" else kind


def _read_synsets(path: Path) -> Iterator[str]:
    """Yield the lines of synsets; the indented lines before them are the licence."""
    with path.open(encoding="utf-8") as file:
        yield from (line for line in file if not line.startswith(" ") and line.strip())


@cache
def open_relations() -> Relations:
    """Open the relations of the packaged WordNet, read once a process."""
    return Relations(open_wordnet(), store.locate("wordnet") / "wordnet")
