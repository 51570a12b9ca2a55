"""Cloze: the words that an attack put in fit their places worse than the words that stood there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import log
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.ask import Gap
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.features.defending.detection.near import (
    NearSwaps,
    NearTexts,
    average,
    count_logs,
    count_words,
    find_largest,
    find_neighbours,
    ids_of,
    read_counts,
)
from malaprop.features.defending.detection.suspicion import Learnt, Lessons, Numbers, ask, find_leads, need_sklearn
from malaprop.features.defending.detection.trees import apply_trees, fit_trees, learn_trees

_LEAST = 3  # letters of a word that is looked at
_BEST = 3  # neighbours of a word that the victim is asked about, those that fit best
_BETTER = (0.0, 1.0, 2.0, 4.0)  # by how much neighbours must fit better to be put in together
_CAP = 6.0  # a neighbour that fits better by more says no more
_NONE = -20.0  # stands for a neighbour that does not exist
_FOLDS = 5
_WORDS = "words."  # before the names of what was learnt about single words


class _Fits(NamedTuple):
    """How well the words of a text fit their places, compared with their neighbours."""

    own: Numbers  # [slot] the logarithm of the word's chance
    several: NDArray[np.bool_]  # [slot] whether the model has no token for it, so that its chance is that of its rank
    better: Numbers  # [slot, neighbour] by how much the neighbours that fit best fit better, the best first
    words: Ints  # [slot, neighbour]
    options: Numbers  # [slot] how many neighbours there are


class _Asked(NamedTuple):
    """A text, the variants of it that the victim scored, and how far each one lowers the lead of its label."""

    text: Text
    fits: _Fits
    swaps: NearSwaps
    counts: Numbers  # [slot] logarithms of the words' counts
    around: Numbers  # [variant] leads of the texts of `near`
    fitting: Numbers  # [variant] leads of the texts with neighbours that fit
    falls: Numbers  # [slot, neighbour] how far the lead falls; 0 where there is no neighbour


class _Seen(NamedTuple):
    """The features of a text as a whole, and those of each of its words [slot, feature]."""

    whole: Numbers
    words: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class ClozeFits:
    """Boosted trees that find replaced words, and others that score a text by the verdicts on its words.

    A masked language model does not see a word and says how likely it is there, and how likely its neighbours are:
    synonyms of WordNet and the `nearest` of counter-fitted space, `most` in all. An attack put a neighbour for the word
    that the writer chose, and the writer's word often fits better. The victim is asked about the neighbours that fit
    best, one by one and together, and about all that `near` asks. From pairs of a text and its adversary the first
    trees learn which words were replaced. Their verdicts, how well words fit and the features of `near` are what the
    second trees see. Every `apart`-th word is hidden at a time. `model` is a masked language model by folder or hub
    name; empty: the packaged one.
    """

    nearest: int = 12
    most: int = 24
    apart: int = 6
    model: str = ""
    needs_attacked: ClassVar[bool] = True
    counts_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if min(self.nearest, self.most, self.apart) < 1:
            raise SettingError(
                f"cloze needs nearest, most and apart of 1 or more, got {self.nearest}, {self.most} and {self.apart}"
            )

    def check(self, victim: Victim) -> None:
        del victim
        need_sklearn("cloze")

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        return learn_trees(self, victim, lessons)

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        return apply_trees(learnt.arrays, self.describe(victim, learnt, texts, exact=exact))

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        own = sum(min(_BEST, len(some)) for some in self._find_options(text))
        return own + len(_BETTER) + NearTexts().count_passes(victim, learnt, text)

    def study(self, victim: Victim, lessons: Lessons) -> tuple[Learnt, Numbers]:
        """Return word counts with trees over words, and features of each text by trees that learnt from other texts."""
        counts = count_words(lessons.corpus)
        seen = self._look(victim, counts, lessons.texts, exact=False)
        replaced = [*(np.zeros(text.slots, np.int64) for text in lessons.clean), *_find_replaced(lessons)]
        folds = np.asarray([_find_fold(text) for text in (*lessons.clean, *lessons.clean)])
        made: list[Numbers] = [np.empty(0)] * len(seen)
        for fold in range(_FOLDS):
            mine = np.flatnonzero(folds == fold).tolist()
            trees = _learn_words(seen, replaced, np.flatnonzero(folds != fold).tolist()) if mine else {}
            for at, features in zip(mine, _join([seen[at] for at in mine], trees), strict=True):
                made[at] = features
        trees = _learn_words(seen, replaced, range(len(seen)))
        arrays = {f"{_WORDS}{name}": value for name, value in trees.items()}
        return Learnt({**arrays, **counts.arrays}, counts.words), np.stack(made)

    def describe(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        """Return the features [text, feature]: those of whole texts, then a summary of the trees' scores for words."""
        trees = _take_word_trees(learnt)
        return np.stack(_join(self._look(victim, learnt, texts, exact=exact), trees))

    def _look(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> list[_Seen]:
        """Return the features of texts and words that the masked language model and the victim give."""
        near, known = NearTexts(), read_counts(learnt)
        fits, swaps = self._find_fits(texts, victim.device), [near.find_swaps(text, learnt) for text in texts]
        pairs = [
            (near.make_texts(text, swap), _put_fitting(text, fit))
            for text, fit, swap in zip(texts, fits, swaps, strict=True)
        ]
        groups = [group for pair in pairs for group in pair]
        leads, asked = find_leads(ask(victim, groups, exact=exact), groups), list[_Asked]()
        for text, fit, swap in zip(texts, fits, swaps, strict=True):
            around, fitting = next(leads), next(leads)
            falls = _spread_falls(fitting, fit)
            asked.append(_Asked(text, fit, swap, count_logs(text, known), around, fitting, falls))
        wholes = (np.concatenate([near.summarise(a.around, a.swaps, a.counts), _summarise(a)]) for a in asked)
        return list(map(_Seen, wholes, _describe_words(asked, known)))

    def _find_options(self, text: Text) -> list[tuple[str, ...]]:
        nearest, most = self.nearest, self.most
        return [find_options(word, nearest, most) for word in text.strings]

    def _find_fits(self, texts: Sequence[Text], device: str) -> list[_Fits]:
        from malaprop.models.encoders.masked_lm import open_fast_masked_lm

        options = list(map(self._find_options, texts))
        asked = [field for text, own in zip(texts, options, strict=True) for field in _split_fields(text, own)]
        found = iter(open_fast_masked_lm(self.model, device).compare(asked, apart=self.apart))
        return _choose(texts, options, [logs for text in texts for _ in text.names for logs in next(found)])


@lru_cache(maxsize=1 << 16)
def find_options(word: str, nearest: int, most: int) -> tuple[str, ...]:
    """Return the neighbours that a word is compared with, in the word's own case; none for a short word."""
    low = word.lower()
    if len(low) < _LEAST or not low.isalpha():
        return ()
    near = [other for other in find_neighbours(low, nearest) if other != low and other.isalpha()]
    return tuple(recase(other, word) for other in near[:most])


def _split_fields(text: Text, options: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, list[Gap]]]:
    """Yield each field with a gap for each of its words; the options of a gap are the word and its neighbours."""
    fields, spans, strings = text.field_of_slots(), text.spans(), text.strings
    for number, value in enumerate(text.values()):
        slots = np.flatnonzero(fields == number).tolist()
        yield value, [Gap(*spans[slot], (strings[slot], *options[slot])) for slot in slots]


def _choose(texts: Sequence[Text], options: Sequence[Sequence[tuple[str, ...]]], logs: Sequence[Floats]) -> list[_Fits]:
    """Return for each text how well its words fit, and for each word the neighbours that fit best."""
    sizes = np.asarray([len(found) for found in logs], np.int64)
    chances = np.full((len(logs), 1 + max(_BEST, int(sizes.max(initial=0)))), np.nan)
    chances[np.arange(chances.shape[1]) < sizes[:, None]] = np.concatenate([np.empty(0), *logs])
    own, several = chances[:, 0], np.isnan(chances[:, 0])
    strings = [word for text in texts for word in text.strings]
    for slot in np.flatnonzero(several).tolist():
        own[slot] = -log(10) - _find_rank(strings[slot])
    rest = np.where(np.isnan(chances[:, 1:]), -np.inf, chances[:, 1:])
    best = np.argsort(-rest, axis=1, kind="stable")[:, :_BEST]
    found = np.take_along_axis(rest, best, 1)
    there = np.isfinite(found)
    better = np.where(there, np.maximum(found - own[:, None], _NONE), _NONE)
    out, begin = [], 0
    for text, others in zip(texts, options, strict=True):
        here = slice(begin, begin + text.slots)
        words = np.repeat(text.words[:, None], _BEST, 1)
        slots = np.nonzero(there[here])[0].tolist()
        chosen = best[here][there[here]].tolist()
        words[there[here]] = ids_of(text.table, [others[slot][at] for slot, at in zip(slots, chosen, strict=True)])
        out.append(_Fits(own[here], several[here], better[here], words, np.maximum(sizes[here] - 1.0, 0)))
        begin += text.slots
    return out


@lru_cache(maxsize=1 << 16)
def _find_rank(word: str) -> float:
    """Return the logarithm of a word's rank by frequency."""
    from malaprop.assets.vectors import open_neighbours

    index = open_neighbours("counter-fitted").vectors.index
    return log(index.get(word.lower(), 4 * len(index)) + 10)


def _put_fitting(text: Text, fits: _Fits) -> Variants:
    """Return the text itself, with one fitting neighbour at a time, and with all that fit better at once."""
    slots, places = np.nonzero(fits.better > _NONE)
    one = len(slots)
    together = [np.flatnonzero(fits.better[:, 0] > much) for much in _BETTER]
    rows = [np.full(len(some), 1 + one + number) for number, some in enumerate(together)]
    return Variants(
        text,
        np.concatenate([slots, *together]),
        np.concatenate([fits.words[slots, places], *(fits.words[some, 0] for some in together)]),
        np.concatenate([1 + np.arange(one), *rows]),
        1 + one + len(_BETTER),
    )


def _spread_falls(leads: Numbers, fits: _Fits) -> Numbers:
    """Return how far the lead falls [slot, neighbour]; 0 where there is no neighbour."""
    there = fits.better > _NONE
    falls = np.zeros(there.shape)
    falls[there] = (leads[0] - leads[1:])[: int(there.sum())]
    return falls


def _summarise(asked: _Asked) -> Numbers:
    """Return features of a whole text: how much better neighbours fit, and how far the lead falls with them."""
    fits, own = asked.fits, asked.fitting[0]
    together, some = own - asked.fitting[-len(_BETTER) :], fits.options > 0
    falls, better, surprise = asked.falls[some, 0], fits.better[some, 0], -fits.own[some]
    weighed = np.clip(better, 0, _CAP) * np.maximum(falls, 0)
    return np.asarray([
        *_take_most(better, 4), average(better), *_take_most(surprise, 3), average(surprise),
        *_take_most(falls[better > 0], 3), *_take_most(falls[better > 2], 2), *_take_most(weighed, 2),
        falls[better > 1].sum(), *together, *(own - together), (better > 0).sum(), (better > 2).sum(),
        (better > 4).sum(), *_take_most(better[falls > own], 2), average((falls > own) & (better > 0)),
    ])  # fmt: skip


def _describe_words(asked: Sequence[_Asked], known: Mapping[str, int]) -> list[Numbers]:
    """Return for each text [slot, feature]: how words fit, how frequent they are, how the lead falls without them."""
    sizes = np.asarray([one.text.slots for one in asked], np.int64)
    ends, many = np.cumsum(sizes), np.repeat(sizes, sizes)
    words = [word for one in asked for word in one.text.strings]
    best = [one.text.table.strings[word] for one in asked for word in one.fits.words[:, 0].tolist()]
    fit, several, better, options = (
        np.concatenate([part[at] for part in (one.fits for one in asked)]) for at in (0, 1, 2, 4)
    )
    falls, counts = np.concatenate([one.falls for one in asked]), np.concatenate([one.counts for one in asked])
    up, down, each = _fall_most(asked, ends - sizes), _fall_most(asked, ends - sizes, upward=False), _leave_out(asked)
    without, own = np.concatenate(each), np.repeat([one.around[0] for one in asked], sizes)
    ranks, others = (np.asarray([_find_rank(word) for word in some]) for some in (words, best))
    rises = np.log1p([known.get(word.lower(), 0) for word in best]) - counts
    weighed = (np.clip(better, 0, _CAP) * np.maximum(falls, 0)).max(1)
    columns = [
        several, fit, fit + ranks, np.repeat([average(one.fits.own) for one in asked], sizes) - fit,
        *better.T, *falls.T,
        without, own, own - without, falls.max(1), np.maximum(up, 0), np.maximum(down, 0), up - down,
        counts, rises, ranks, ranks - others, [len(word) for word in words], options,
        many, (np.arange(len(many)) - np.repeat(ends - sizes, sizes)) / many,
        np.repeat([some.max(initial=0) for some in each], sizes),
        np.concatenate([(some >= some[:, None]).sum(1) for some in each]),
        [word[:1].isupper() for word in words], weighed,
    ]  # fmt: skip
    return np.split(np.stack([np.asarray(column, np.float64) for column in columns], 1), ends[:-1])


def _leave_out(asked: Sequence[_Asked]) -> list[Numbers]:
    """Return for each text [slot] how far the lead falls when the word is left out."""
    return [a.around[0] - a.around[1 + len(a.swaps.slots) :][: a.text.slots] for a in asked]


def _fall_most(asked: Sequence[_Asked], begins: Ints, *, upward: bool = True) -> Numbers:
    """Return [slot] of all texts: the largest fall of the lead by a swap for a more frequent word, or a rarer one."""
    out = np.full(sum(one.text.slots for one in asked), _NONE)
    chosen = np.concatenate([one.swaps.upward for one in asked]) == upward
    falls = np.concatenate([a.around[0] - a.around[1:][: len(a.swaps.slots)] for a in asked])
    slots = np.concatenate([one.swaps.slots + begin for one, begin in zip(asked, begins.tolist(), strict=True)])
    there, most = find_largest(falls[chosen], slots[chosen])
    out[there] = np.maximum(most, _NONE)
    return out


_LEAD, _WITHOUT, _FALL = 11, 10, 7  # columns of the above


def _find_replaced(lessons: Lessons) -> Iterator[NDArray[np.int64]]:
    """Yield for each adversarial text which of its words differ from its original's."""
    for clean, attacked in zip(lessons.clean, lessons.attacked, strict=True):
        if clean.slots == attacked.slots:
            pairs = zip(clean.strings, attacked.strings, strict=True)
            yield np.asarray([was != now for was, now in pairs], np.int64)
        else:
            there = {*clean.strings}
            yield np.asarray([word not in there for word in attacked.strings], np.int64)


def _find_fold(text: Text) -> int:
    """Return the fold of a text, a hash of it, so that all copies of a text are in one fold."""
    whole = "\x1f".join(text.values()).encode("utf-8", "surrogatepass")
    return blake2b(whole, digest_size=8).digest()[0] % _FOLDS


def _learn_words(
    seen: Sequence[_Seen], replaced: Sequence[NDArray[np.int64]], which: Sequence[int]
) -> Mapping[str, NDArray[Any]]:
    """Fit trees that predict whether an attack replaced a word; empty where all words have the same answer."""
    x, y = np.concatenate([seen[at].words for at in which]), np.concatenate([replaced[at] for at in which])
    return fit_trees(x, y) if 0 < y.sum() < len(y) else {}


def _join(seen: Sequence[_Seen], trees: Mapping[str, NDArray[Any]]) -> list[Numbers]:
    """Return the features of each text, followed by a summary of what the trees predict for its words."""
    words = np.concatenate([one.words for one in seen])
    odds = apply_trees(trees, words) if trees and len(words) else np.empty(0)
    sizes = [len(one.words) if trees else 0 for one in seen]
    return [
        np.concatenate([one.whole, _sum_up(one.words[: len(own)], own)])
        for one, own in zip(seen, np.split(odds, np.cumsum(sizes)[:-1]), strict=True)
    ]


def _sum_up(words: Numbers, odds: Numbers) -> list[float]:
    """Return features of a text from the log-odds that each of its words was replaced."""
    sure = 1 / (1 + np.exp(-odds))
    lead, without, fall = (np.maximum(words[:, at], 0) for at in (_LEAD, _WITHOUT, _FALL))
    weighed = sure * without
    return [
        *_take_most(odds - _NONE, 5), average(odds), sure.sum(), np.log1p(-np.minimum(sure, 1 - 1e-6)).sum(),
        weighed.sum(), weighed.max(initial=0), average(lead), (sure * fall).sum(),
    ]  # fmt: skip


@lru_cache(maxsize=8)
def _take_word_trees(learnt: Learnt) -> Mapping[str, NDArray[Any]]:
    return {key.removeprefix(_WORDS): value for key, value in learnt.arrays.items() if key.startswith(_WORDS)}


def _take_most(values: Numbers, many: int) -> list[float]:
    """Return the `many` largest values in falling order, padded with zeros."""
    found: list[float] = np.sort(values)[::-1][:many].tolist()
    return found + [0.0] * (many - len(found))
