"""A memory of the texts that a service answered lately; it decides whether to answer one more.

Only an attack queries hundreds of forms of one text. Two texts are alike where

- a passage of one and a passage of the other have at least half of their words in common, and no fewer than three: one
  text was cut, put into another one, put in another order, or a few of its words were changed; or
- of the words of each text 80% stand in the other, or a synonym of theirs does: as many words as one likes were
  replaced by synonyms.

Words are base forms in lower case and Latin letters, without stop words; a passage is 16 of them in a row.

Each text in memory has a number. A set of texts is an integer whose bit `number` is 1 for those in it, so that a few
operations on integers compare one text with all others.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from math import ceil
from operator import or_
from threading import Lock

import numpy as np

from malaprop.assets.lexicon import stop_words
from malaprop.assets.plain_letters import make_plain, strip_unseen
from malaprop.core.errors import SettingError
from malaprop.core.victim import Fields

PASSAGE = 16  # words
_STEP = 4  # from the start of one passage to that of the next
_COMMON = 0.5  # of the shorter passage's words
_LEAST = 3  # words that two passages have in common; a text with fewer is like no other
_MEANT = 0.8  # of each text's words, synonyms counted
_COSINE = 0.5  # of a word and its synonym, in counter-fitted space
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")

Synonyms = Callable[[str], frozenset[str]]


@dataclass(frozen=True)
class _Query:
    """A text that was answered: its words, and those of its passages."""

    words: frozenset[str]
    passages: tuple[frozenset[str], ...]

    @property
    def least(self) -> int:
        """Return how many words a passage needs at least to be like one of these."""
        return min(map(_need_common, self.passages))


class QueryMemory:
    """Decides whether to answer a text: of texts that are alike, `limit` are answered.

    It holds the last `remember` answered texts of all clients. A text that is among them is answered again,
    for that tells nothing new. Threads may share it.
    """

    def __init__(
        self,
        *,
        limit: int = 5,
        remember: int = 10_000,
        synonyms: Synonyms | None = None,
        fold: Callable[[str], str] | None = None,
    ) -> None:
        if limit < 1 or remember < limit:
            raise SettingError(f"a memory of queries wants 1 <= limit <= remember, got {limit} and {remember}")
        self.limit, self.remember = limit, remember
        self._synonyms = find_synonyms if synonyms is None else synonyms
        self._fold = fold_word if fold is None else fold
        self._numbers: OrderedDict[Fields, int] = OrderedDict()  # the number of each text, the oldest first
        self._queries: dict[int, _Query] = {}
        self._with: dict[str, int] = {}  # for each word the set of texts that have it
        self._by_least: dict[int, int] = {}  # the set of texts for each `_Query.least`
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._numbers)

    def admit(self, text: Fields | str) -> bool:
        """Return whether to answer this text; if so, remember it."""
        fields = (text,) if isinstance(text, str) else tuple(text)
        with self._lock:
            if fields in self._numbers:
                self._numbers.move_to_end(fields)
                return True
            asked = self._read(fields)
            if len(asked.words) >= _LEAST and self._has_enough(asked):
                return False
            self._keep(fields, asked)
            return True

    def _read(self, fields: Fields) -> _Query:
        words = [word for field in fields for word in self._cut(field)]
        starts = range(0, max(1, len(words) - PASSAGE + _STEP), _STEP)
        return _Query(frozenset(words), tuple(frozenset(words[start : start + PASSAGE]) for start in starts))

    def _cut(self, field: str) -> Iterator[str]:
        stop = stop_words()
        for found in _WORD.findall(strip_unseen(field)):
            word = make_plain(found).lower()
            if word not in stop:
                yield self._fold(word)

    def _has_enough(self, asked: _Query) -> bool:
        """Return whether at least `limit` texts in memory are like this one."""
        alike = set[int]()
        for number in self._find_alike(asked):
            alike.add(number)
            if len(alike) >= self.limit:
                return True
        return False

    def _find_alike(self, asked: _Query) -> Iterator[int]:
        """Yield the numbers of texts that are like this one, some of them more than once."""
        for passage in asked.passages:
            for number in _list_bits(self._find_near(passage)):
                if any(_are_alike(passage, other) for other in self._queries[number].passages):
                    yield number
        near = self._find_meant(asked.words)
        meant = asked.words.union(*map(self._synonyms, asked.words)) if near else asked.words
        for number in _list_bits(near):
            words = self._queries[number].words
            if len(words) >= _LEAST and len(words & meant) >= _MEANT * len(words):
                yield number

    def _find_near(self, passage: Set[str]) -> int:
        """Return the set of texts that have as many words of a passage as a similar passage must have."""
        need = _need_common(passage)
        counted = _count_bits((self._with.get(word, 0) for word in passage), need)
        return reduce(or_, (texts & counted[min(need, least) - 1] for least, texts in self._by_least.items()), 0)

    def _find_meant(self, words: Set[str]) -> int:
        """Return the set of texts that have enough of these words or of their synonyms."""
        spare = len(words) - ceil(_MEANT * len(words))  # words that may be missing
        every = (1 << len(self._queries)) - 1
        return every ^ _count_bits((every ^ self._find_with(word) for word in words), spare + 1)[spare]

    def _find_with(self, word: str) -> int:
        """Return the set of texts that have a word or a synonym of it."""
        return reduce(or_, filter(None, map(self._with.get, self._synonyms(word))), self._with.get(word, 0))

    def _keep(self, fields: Fields, asked: _Query) -> None:
        number = len(self._numbers) if len(self._numbers) < self.remember else self._forget()
        self._numbers[fields], self._queries[number] = number, asked
        self._by_least[asked.least] = self._by_least.get(asked.least, 0) | 1 << number
        for word in asked.words:
            self._with[word] = self._with.get(word, 0) | 1 << number

    def _forget(self) -> int:
        """Forget the oldest text and return its number, which is free again."""
        _, number = self._numbers.popitem(last=False)
        oldest = self._queries.pop(number)
        self._by_least[oldest.least] ^= 1 << number
        for word in oldest.words:
            self._with[word] ^= 1 << number
            if not self._with[word]:
                del self._with[word]
        return number


def _need_common(passage: Set[str]) -> int:
    """Return how many words a passage no shorter than this one must share with it to be like it."""
    return max(_LEAST, ceil(_COMMON * len(passage)))


def _are_alike(one: Set[str], other: Set[str]) -> bool:
    """Return whether two passages are alike."""
    return len(one & other) >= min(_need_common(one), _need_common(other))


def _count_bits(sets: Iterable[int], most: int) -> list[int]:
    """Return integers with the bits that are set in at least 1, 2, ... and `most` of the given ones."""
    counted = [0] * most
    for one in sets:
        for place in range(most - 1, 0, -1):
            counted[place] |= counted[place - 1] & one
        counted[0] |= one
    return counted


def _list_bits(one: int) -> Iterator[int]:
    """Yield the positions of the set bits of an integer, the lowest first."""
    while one:
        lowest = one & -one
        yield lowest.bit_length() - 1
        one ^= lowest


@lru_cache(maxsize=1 << 16)
def fold_word(word: str) -> str:
    """Return the base form of a word in WordNet, the shortest of several; the word itself where it is unknown."""
    from malaprop.assets.wordnet import open_wordnet

    known = open_wordnet()
    bases = [base for part in "nvar" for base in known.bases(word, part)]
    return min(bases, key=lambda base: (len(base), base), default=word)


@lru_cache(maxsize=1 << 16)
def find_synonyms(word: str) -> frozenset[str]:
    """Return the base forms of a word's counter-fitted neighbours and WordNet synonyms, as word attacks use them."""
    from malaprop.assets.wordnet import open_wordnet

    return _join_neighbours().get(word, frozenset()).union(map(fold_word, open_wordnet().synonyms(word)))


@cache
def _join_neighbours() -> dict[str, frozenset[str]]:
    """Return for each base form its counter-fitted neighbours, in either direction."""
    from malaprop.assets.vectors import open_neighbours

    near = open_neighbours("counter-fitted")
    folded = [fold_word(word.lower()) for word in near.vectors.words]
    ones, places = np.nonzero(near.cosines >= _COSINE)
    found: dict[str, set[str]] = {}
    for one, two in zip(ones.tolist(), near.table[ones, places].tolist(), strict=True):
        found.setdefault(folded[one], set()).add(folded[two])
        found.setdefault(folded[two], set()).add(folded[one])
    return {word: frozenset(others) for word, others in found.items()}
