"""QueryMemory: the texts that a service answered lately, and whether one more should be answered.

An attack asks about hundreds of forms of one text, and nobody else does. Two texts are alike where

- a passage of one and a passage of the other have at least half of their words in common, and no fewer than three: one
  text was cut, put into another one, put in another order, or a few of its words were changed; or
- of the words of each text 80% stand in the other, or a synonym of theirs does: as many words as one likes were
  replaced by synonyms.

Words are base forms in lower case and Latin letters, without stop words; a passage is 16 of them in a row.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, count
from math import ceil
from threading import Lock

import numpy as np

from malaprop.assets.lexicon import stop_words
from malaprop.core.errors import SettingError
from malaprop.core.victim import Fields
from malaprop.defences.spellcheck import make_plain, strip_unseen

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

    @cached_property
    def shortest(self) -> int:
        return min(map(len, self.passages))


class QueryMemory:
    """Says of each text whether to answer it: of texts that are alike, `limit` are answered.

    It holds the last `remember` texts that were answered, whoever asked. A text that is among them is answered again,
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
        self._numbers: OrderedDict[Fields, int] = OrderedDict()  # of the texts, the oldest first
        self._queries: dict[int, _Query] = {}
        self._with: dict[str, dict[int, None]] = {}  # by word the texts that have it
        self._next = count()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._numbers)

    def admit(self, text: Fields | str) -> bool:
        """Whether to answer this text. If so, it is remembered."""
        fields = (text,) if isinstance(text, str) else tuple(text)
        with self._lock:
            if fields in self._numbers:
                self._numbers.move_to_end(fields)
                return True
            asked = self._read(fields)
            if len(asked.words) >= _LEAST and self._count_alike(asked) >= self.limit:
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

    def _count_alike(self, asked: _Query) -> int:
        """How many of the texts in memory are like this one, counted up to the limit."""
        shared = Counter(chain.from_iterable(self._with.get(word, ()) for word in asked.words))
        alike = set[int]()
        for number, common in shared.items():
            if common >= _LEAST and _share_passage(asked, self._queries[number], common):
                alike.add(number)
                if len(alike) >= self.limit:
                    return self.limit
        meant = {word: self._synonyms(word) | {word} for word in asked.words}
        for number in self._find_near(meant) - alike:
            if _mean_the_same(meant, self._queries[number]):
                alike.add(number)
                if len(alike) >= self.limit:
                    return self.limit
        return len(alike)

    def _find_near(self, meant: Mapping[str, frozenset[str]]) -> set[int]:
        """Texts that may mean the same. If they do, one of any few words stands in them, or a synonym of it does: of
        those that the fewest texts have."""
        some = sorted((sum(len(self._with.get(one, ())) for one in alike), word) for word, alike in meant.items())
        few = len(meant) - ceil(_MEANT * len(meant)) + 1
        return {number for _, word in some[:few] for one in meant[word] for number in self._with.get(one, ())}

    def _keep(self, fields: Fields, asked: _Query) -> None:
        number = next(self._next)
        self._numbers[fields], self._queries[number] = number, asked
        for word in asked.words:
            self._with.setdefault(word, {})[number] = None
        if len(self._numbers) > self.remember:
            _, oldest = self._numbers.popitem(last=False)
            for word in self._queries.pop(oldest).words:
                others = self._with[word]
                del others[oldest]
                if not others:
                    del self._with[word]


def _share_passage(asked: _Query, other: _Query, common: int) -> bool:
    """Whether a passage of one is like one of the other, by the words in `common`, those of both texts."""
    if common < _COMMON * min(asked.shortest, other.shortest):
        return False
    return any(len(a & b) >= max(_LEAST, _COMMON * min(len(a), len(b))) for a in asked.passages for b in other.passages)


def _mean_the_same(meant: Mapping[str, frozenset[str]], other: _Query) -> bool:
    """Whether enough words of both texts, or synonyms of theirs, stand in the other one."""
    if len(other.words) < _LEAST:
        return False
    spare = len(meant) - ceil(_MEANT * len(meant))  # words that may be missing
    for alike in meant.values():
        spare -= other.words.isdisjoint(alike)
        if spare < 0:
            return False
    return len(other.words.intersection(chain.from_iterable(meant.values()))) >= _MEANT * len(other.words)


@lru_cache(maxsize=1 << 16)
def fold_word(word: str) -> str:
    """The base form that WordNet gives a word, the shortest where it may be several parts of speech; else itself."""
    from malaprop.assets.wordnet import open_wordnet

    known = open_wordnet()
    bases = [base for part in "nvar" for base in known.bases(word, part)]
    return min(bases, key=lambda base: (len(base), base), default=word)


@lru_cache(maxsize=1 << 16)
def find_synonyms(word: str) -> frozenset[str]:
    """Base forms of what word attacks put for a word, or put it for: counter-fitted neighbours, WordNet's synonyms."""
    from malaprop.assets.wordnet import open_wordnet

    return _join_neighbours().get(word, frozenset()).union(map(fold_word, open_wordnet().synonyms(word)))


@cache
def _join_neighbours() -> dict[str, frozenset[str]]:
    """By base form those that are among the nearest of one another, in either direction."""
    from malaprop.assets.vectors import open_neighbours

    near = open_neighbours("counter-fitted")
    folded = [fold_word(word.lower()) for word in near.vectors.words]
    ones, places = np.nonzero(near.cosines >= _COSINE)
    found: dict[str, set[str]] = {}
    for one, two in zip(ones.tolist(), near.table[ones, places].tolist(), strict=True):
        found.setdefault(folded[one], set()).add(folded[two])
        found.setdefault(folded[two], set()).add(folded[one])
    return {word: frozenset(others) for word, others in found.items()}
