"""Stateful detection: a service in front of a victim remembers queries, and rejects a text that is like many of them.

(Chen, Carlini and Wagner 2019, and Blacklight, Li et al. 2022, for images.) It stops a search that queries the defended
model at every step. It does not stop a search on a model of the attacker's own, nor queries that look unlike each
other: `features.defending.evasion` has both, and the defence test runs them.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from math import ceil
from operator import or_
from threading import Lock
from typing import Any, ClassVar, TypeVar

import numpy as np

from malaprop.assets.lexicon import stop_words
from malaprop.assets.plain_letters import make_plain, strip_unseen
from malaprop.core.ask import Ask, Steps, relay
from malaprop.core.errors import MalapropError, SettingError, VictimError, plain
from malaprop.core.score import Flags, Floats
from malaprop.core.text import Text
from malaprop.core.variants import Guess, Variants
from malaprop.core.victim import REJECTED, Fields, Victim, find_rejected
from malaprop.features.defending.detection.suspicion import ask as ask_victim
from malaprop.frame.runs.defended import Counters

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
            raise SettingError(f"a memory of queries needs 1 <= limit <= remember, got {limit} and {remember}")
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


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stateful:
    """The victim's answer with one label more, rejection: a text is rejected after `limit` texts like it were answered.

    `QueryMemory` says which texts are alike. Under attack every text begins with an empty memory, so that outcomes
    depend on no other text; a service that remembers all of them rejects sooner. It stands outermost.
    """

    limit: int = 5
    kind: ClassVar[str] = "stateful"
    samples: ClassVar[int] = 1
    discrete: ClassVar[bool] = False
    steady: ClassVar[bool] = True  # it draws nothing

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise SettingError(f"stateful needs a limit of at least 1 query, got {self.limit}")

    def check(self, victim: Victim) -> None:
        """Accept any victim with scores."""

    def name_labels(self, victim: Victim) -> tuple[str, ...]:
        names = tuple(victim.label_names) or tuple(map(str, range(victim.labels or _count_labels(victim))))
        return names if find_rejected(names) >= 0 else (*names, REJECTED)

    def read_state(self, victim: Victim) -> str:
        del victim
        return ""  # the memory lasts for one attack alone

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> Sequence[Text]:
        del victim, counters
        return texts

    def answers(
        self, victim: Victim, prepared: Sequence[Text], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        """Return the victim's scores, with 0 for rejection; `receive` rejects, for it sees the texts in turn."""
        del seeds
        counters.inner += len(prepared)
        own = np.exp(ask_victim(victim, [Variants.itself(text) for text in prepared], exact=exact))
        if find_rejected(victim.label_names) >= 0:
            return np.asarray(own, np.float32)
        return np.column_stack([own, np.zeros(len(own))]).astype(np.float32)

    def receive(self, steps: Steps[T]) -> Steps[T]:
        return relay(steps, AttackSession(self.open_memory()).answer)

    def open_memory(self) -> QueryMemory:
        return QueryMemory(limit=self.limit)


def _count_labels(victim: Victim) -> int:
    """Return how many labels a victim has, by asking it about one text."""
    try:
        return int(victim.predict(["a"]).shape[1])
    except MalapropError:
        raise
    except Exception as error:
        raise VictimError(f"stateful cannot learn how many labels {victim.name} has: {plain(error)}") from error


class AttackSession:
    """One attack as the service sees it: rejected texts never reach the model."""

    def __init__(self, memory: QueryMemory) -> None:
        self.memory = memory
        self.labels = 0  # set by the first answer; the first text is never rejected
        self.refused = False  # whether the service rejected a text to be verified

    def answer(self, ask: Ask) -> Steps[list[Any]]:
        if ask.service == "victim":
            return (yield from self.score(ask.items))
        if ask.service == "verify":
            return (yield from self.verify(ask.items))
        return (yield ask)

    def score(self, items: Sequence[Variants | Guess]) -> Steps[list[Floats | None]]:
        """Return the service's answers for variants; None for guesses, which it does not answer."""
        flags = {n: self.admit(item.texts()) for n, item in enumerate(items) if isinstance(item, Variants)}
        kept = {n: item.keep(flags[n]) for n, item in enumerate(items) if isinstance(item, Variants)}
        left = [item for item in kept.values() if item.count]
        found = iter((yield Ask("victim", left)) if left else [])
        rows = {n: self.fill(flags[n], next(found) if item.count else None) for n, item in kept.items()}
        return [rows.get(n) for n in range(len(items))]

    def verify(self, texts: Sequence[Text]) -> Steps[list[Floats]]:
        fine = self.admit(texts)
        self.refused |= not fine.all()
        left = [text for text, one in zip(texts, fine.tolist(), strict=True) if one]
        rows = (yield Ask("verify", left)) if left else []
        return [*self.fill(fine, np.asarray(rows, np.float32) if rows else None)]

    def reject(self, items: Sequence[Variants | Guess]) -> list[Floats | None]:
        """Return rejections for all variants, as a service gives that answers nothing more."""
        return [self.fill(np.zeros(one.count, np.bool_), None) if isinstance(one, Variants) else None for one in items]

    def admit(self, texts: Sequence[Text]) -> Flags:
        return np.fromiter((self.memory.admit(text.values()) for text in texts), np.bool_, len(texts))

    def fill(self, fine: Flags, answers: Floats | None) -> Floats:
        """Return the answers of the admitted texts, with rejections in the rows of the others."""
        if answers is not None:
            self.labels = answers.shape[1]
        out = np.zeros((len(fine), self.labels), np.float32)
        out[:, -1:] = 1
        if answers is not None:
            out[fine] = answers
        return out
