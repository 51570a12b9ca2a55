"""Near texts: an adversarial text's label depends on rare words, and more frequent ones bring the true label back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words, word_pattern
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields, Victim
from malaprop.features.defending.detection.suspicion import Learnt, Lessons, Numbers, ask, find_leads, need_sklearn
from malaprop.features.defending.detection.trees import apply_trees, learn_trees


def count_words(corpus: Sequence[Fields]) -> Learnt:
    """Count the lower-cased words of these texts."""
    pattern = word_pattern()
    counts = Counter(word.lower() for fields in corpus for value in fields for word in pattern.findall(value))
    words = sorted(counts)
    return Learnt({"counts": np.asarray([counts[word] for word in words], np.int64)}, {"words": words})


@lru_cache(maxsize=8)
def read_counts(learnt: Learnt) -> Mapping[str, int]:
    return dict(zip(learnt.words["words"], learnt.arrays["counts"].tolist(), strict=True))


def ids_of(table: Words, words: Sequence[str]) -> Ints:
    return table.ids(words) if words else np.empty(0, np.int64)


@lru_cache(maxsize=1 << 16)
def find_neighbours(word: str, nearest: int) -> tuple[str, ...]:
    """Return words that may replace another: its WordNet synonyms and its nearest counter-fitted neighbours."""
    from malaprop.assets.vectors import open_neighbours
    from malaprop.assets.wordnet import open_wordnet

    near = open_neighbours("counter-fitted").of(word)[0][:nearest] if nearest else ()
    return tuple(dict.fromkeys((*open_wordnet().synonyms(word), *near)))


_LEAST = 3  # letters of a word that is swapped
_NEAREST = 8  # neighbours in counter-fitted space, besides the synonyms of WordNet
_SWAPPED = 0.3  # chance of a word to be swapped in a text of many swaps
_RARE, _USUAL = 1.7, 3.0  # logarithms of one more than a word's count in the texts of the fit


class NearSwaps(NamedTuple):
    """Words that may stand in a text's slots, and which of them are more frequent than what stands there."""

    slots: Ints
    words: Ints
    upward: np.ndarray[tuple[int], np.dtype[np.bool_]]
    sizes: Ints  # [slot] how many words it may be swapped for


@dataclass(frozen=True, slots=True, kw_only=True)
class NearTexts:
    """A small classifier over what happens to the lead of the predicted label in texts near by.

    An attack has put rarer words in, so a swap for a more frequent neighbour undoes an adversarial text, where a clean
    one is rather undone by rarer words. Each word is swapped for its `up` most frequent neighbours of those that are
    more frequent than it and for `down` of the others, each is left out in turn, and in `many` texts several words are
    swapped at once. Features are how far the lead falls by either kind of swap, and how rare the words are by which
    the lead stands.
    """

    up: int = 4
    down: int = 3
    many: int = 16
    needs_attacked: ClassVar[bool] = True
    counts_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if min(self.up, self.down, self.many) < 1:
            raise SettingError(f"near needs up, down and many of 1 or more, got {self.up}, {self.down} and {self.many}")

    def check(self, victim: Victim) -> None:
        del victim
        need_sklearn("near")

    def study(self, victim: Victim, lessons: Lessons) -> tuple[Learnt, Numbers]:
        """Return word counts, which `describe` needs, and the features of the texts."""
        known = count_words(lessons.corpus)
        return known, self.describe(victim, known, lessons.texts, exact=False)

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        return learn_trees(self, victim, lessons)

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        return apply_trees(learnt.arrays, self.describe(victim, learnt, texts, exact=exact))

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        del victim
        return sum(len(one) for one, _ in self._find_each(text, learnt)) + self.many + text.slots

    def describe(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        """Return the features [text, feature]: how the lead changes over near texts, and how rare the words are."""
        known = read_counts(learnt)
        swaps = [self.find_swaps(text, learnt) for text in texts]
        groups = [self.make_texts(text, own) for text, own in zip(texts, swaps, strict=True)]
        leads = find_leads(ask(victim, groups, exact=exact), groups)
        return np.stack([
            self.summarise(next(leads), own, count_logs(text, known)) for text, own in zip(texts, swaps, strict=True)
        ])  # fmt: skip

    def find_swaps(self, text: Text, learnt: Learnt) -> NearSwaps:
        """Return the swaps to try for each slot of a text, those for more frequent words first."""
        each = self._find_each(text, learnt)
        sizes = np.asarray([len(words) for words, _ in each], np.int64)
        words = [word for words, _ in each for word in words]
        upward = np.asarray([up for _, ups in each for up in ups], np.bool_)
        return NearSwaps(np.repeat(np.arange(len(each)), sizes), ids_of(text.table, words), upward, sizes)

    def _find_each(self, text: Text, learnt: Learnt) -> list[tuple[tuple[str, ...], tuple[bool, ...]]]:
        up, down = self.up, self.down
        return [_find_word_swaps(learnt, word, up, down) for word in text.strings]

    def make_texts(self, text: Text, swaps: NearSwaps) -> Variants:
        """Return the text itself, then it with each swap, without each word, and with many swaps at once."""
        one, left = len(swaps.slots), np.arange(text.slots)
        there = swaps.sizes > 0
        sizes, starts = swaps.sizes[there], (np.cumsum(swaps.sizes) - swaps.sizes)[there]
        rng = generator(0, "near", *text.values())
        turns, places = np.nonzero(rng.random((self.many, len(sizes))) < _SWAPPED)
        rows, edits = 1 + one + text.slots + turns, starts[places] + rng.integers(sizes[places])
        return Variants(
            text,
            np.concatenate([swaps.slots, left, swaps.slots[edits]]),
            np.concatenate([swaps.words, np.zeros(text.slots, np.int64), swaps.words[edits]]),
            np.concatenate([1 + np.arange(one), 1 + one + left, rows]),
            1 + one + text.slots + self.many,
        )

    def summarise(self, leads: Numbers, swaps: NearSwaps, logs: Numbers) -> Numbers:
        """Return the features of one text from the leads of all texts near it and the logarithms of its word counts."""
        own, one, words = leads[0], len(swaps.slots), len(logs)
        falls = own - leads[1:]
        single, without, several = falls[:one], falls[one : one + words], falls[one + words :]
        up, down = swaps.upward, ~swaps.upward
        rises = _take_largest(single[up], swaps.slots[up], 5)
        sinks = _take_largest(single[down], swaps.slots[down], 4)
        return np.asarray([
            own, *rises, *sinks, *(own - rises[:3]), np.maximum(rises, 0).sum(), rises[0] - sinks[0],
            rises[:3].sum() - sinks[:3].sum(), average(single[up]), average(single[down]),
            average(single[up] > own), average(single[down] > own), up.sum(), (swaps.sizes > 0).sum(),
            average(several > own), average(several), several.std(), average(np.sort(several)[-4:]),
            *_weigh_rarity(without, logs),
        ])  # fmt: skip


@lru_cache(maxsize=1 << 16)
def _find_word_swaps(learnt: Learnt, word: str, up: int, down: int) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Return the words to swap a word for, and for each whether it is more frequent than the word."""
    known, low = read_counts(learnt), word.lower()
    if len(low) < _LEAST or not low.isalpha():
        return (), ()
    mine = known.get(low, 0)
    near = [other for other in find_neighbours(low, _NEAREST) if other != low and other.isalpha()]
    near.sort(key=lambda other: (-known.get(other, 0), other))
    more = [other for other in near if known.get(other, 0) > mine][:up]
    less = [other for other in near if known.get(other, 0) <= mine][:down]
    return tuple(recase(other, word) for other in (*more, *less)), (True,) * len(more) + (False,) * len(less)


def average(values: Numbers | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Return the mean, 0 of an empty array; for a few values this takes a third of the time of `numpy.mean`."""
    return float(np.add.reduce(values, dtype=np.float64) / len(values)) if len(values) else 0.0


def find_largest(falls: Numbers, slots: Ints) -> tuple[Ints, Numbers]:
    """Return the slots that are swapped, in order, and for each its largest fall of the lead."""
    if not len(slots):
        return slots, falls
    begins = np.flatnonzero(np.concatenate([[True], slots[1:] != slots[:-1]]))
    return slots[begins], np.maximum.reduceat(falls, begins)


def _take_largest(falls: Numbers, slots: Ints, many: int) -> Numbers:
    """Return the `many` largest falls, one for each slot at most, padded with zeros."""
    out, best = np.zeros(many), np.sort(find_largest(falls, slots)[1])[::-1][:many]
    out[: len(best)] = best
    return out


def count_logs(text: Text, known: Mapping[str, int]) -> Numbers:
    """Return [slot] the logarithm of one more than the count of each word."""
    return np.log1p(np.asarray([known.get(word.lower(), 0) for word in text.strings], np.float64))


def _weigh_rarity(falls: Numbers, logs: Numbers) -> list[float]:
    """Return features that compare the frequency of the words without which the lead falls most with the others'."""
    if not len(falls):
        return [0.0] * 17
    order, usual = np.argsort(-falls, kind="stable")[:5], average(logs)
    heavy = np.full(5, usual)
    heavy[: len(order)] = logs[order]
    weights = np.maximum(falls, 0) + 1e-6
    weighted = float(weights @ logs / weights.sum())
    far, apart = falls - average(falls), logs - usual
    spread = sqrt(average(far * far)) * sqrt(average(apart * apart))
    ties = average(far * apart) / spread if spread > 1e-9 else 0.0
    rare, unusual, rest = falls[logs < _RARE], falls[logs < _USUAL], falls[logs >= _USUAL]
    least = np.sort(logs)
    return [
        *heavy.tolist(), weighted, weighted - usual, ties, rare.sum(), rare.max(initial=0),
        unusual.max(initial=0), rest.max(initial=0), unusual.sum() - rest.sum(),
        usual, average(least[: max(1, len(least) // 4)]), average(logs < 1), average(least[:3]),
    ]  # fmt: skip
