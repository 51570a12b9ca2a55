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
from malaprop.core.cloze import Gap
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.defences.detection.counts import count_words, find_neighbours, ids_of, read_counts
from malaprop.defences.detection.leads import find_leads, split_answers
from malaprop.defences.detection.near import NearSwaps, NearTexts, count_logs
from malaprop.defences.detection.suspicion import Learnt, Lessons, Numbers, ask, need_sklearn
from malaprop.defences.detection.trees import apply_trees, fit_trees, learn_trees

_LEAST = 3  # letters of a word that is looked at
_BEST = 3  # neighbours of a word that the victim is asked about, those that fit best
_BETTER = (0.0, 1.0, 2.0, 4.0)  # by how much neighbours must fit better to be put in together
_CAP = 6.0  # a neighbour that fits better by more says no more
_NONE = -20.0  # by how much a neighbour that is not there fits better
_FOLDS = 5
_WORDS = "words."  # before the names of what was learnt about single words


class _Fits(NamedTuple):
    """How well the words of a text fit their places, beside their neighbours."""

    own: Numbers  # [slot] the logarithm of the word's chance
    several: NDArray[np.bool_]  # [slot] whether the model has no token for it, so that its chance is that of its rank
    better: Numbers  # [slot, neighbour] by how much the neighbours that fit best fit better, the best first
    words: Ints  # [slot, neighbour]
    options: Numbers  # [slot] how many neighbours there are


class _Seen(NamedTuple):
    """What is known of a text: features of the whole, and of each of its words [slot, feature]."""

    whole: Numbers
    words: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class ClozeFits:
    """Which words were put in? Boosted trees over single words, and others over what these say of a text.

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

    def __post_init__(self) -> None:
        if min(self.nearest, self.most, self.apart) < 1:
            raise SettingError(
                f"cloze wants nearest, most and apart of 1 or more, got {self.nearest}, {self.most} and {self.apart}"
            )

    def check(self, victim: Victim) -> None:
        del victim
        need_sklearn("cloze")

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        return learn_trees(self, victim, lessons)

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        return apply_trees(learnt.arrays, self.describe(victim, learnt, texts, exact=exact))

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        own = sum(min(_BEST, len(self._find_options(word))) for word in text.strings) + len(_BETTER)
        return own + NearTexts().count_passes(victim, learnt, text)

    def study(self, victim: Victim, lessons: Lessons) -> tuple[Learnt, Numbers]:
        """Counts, and the trees over words. A text is described by trees that learnt from other texts."""
        counts = count_words(lessons.corpus)
        seen = self._look(victim, counts, lessons.texts, exact=False)
        replaced = [*(np.zeros(text.slots, np.int64) for text in lessons.clean), *_find_replaced(lessons)]
        folds = np.asarray([_find_fold(text) for text in (*lessons.clean, *lessons.clean)])
        made: list[Numbers] = [np.empty(0)] * len(seen)
        for fold in range(_FOLDS):
            mine = np.flatnonzero(folds == fold).tolist()
            trees = _learn_words(seen, replaced, np.flatnonzero(folds != fold).tolist()) if mine else {}
            for at in mine:
                made[at] = _join(seen[at], trees)
        trees = _learn_words(seen, replaced, range(len(seen)))
        arrays = {f"{_WORDS}{name}": value for name, value in trees.items()}
        return Learnt({**arrays, **counts.arrays}, counts.words), np.stack(made)

    def describe(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        """The features [text, feature]."""
        trees = _take_word_trees(learnt)
        return np.stack([_join(one, trees) for one in self._look(victim, learnt, texts, exact=exact)])

    def _look(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> list[_Seen]:
        """Texts by the masked language model and by the victim."""
        near, known = NearTexts(), read_counts(learnt)
        fits, swaps = self._find_fits(texts, victim.device), [near.find_swaps(text, known) for text in texts]
        pairs = [
            (near.make_texts(text, swap), _put_fitting(text, fit))
            for text, fit, swap in zip(texts, fits, swaps, strict=True)
        ]
        groups = [group for pair in pairs for group in pair]
        answers = split_answers(ask(victim, groups, exact=exact), groups)
        out = []
        for text, fit, swap in zip(texts, fits, swaps, strict=True):
            around, fitting = (find_leads(next(answers)) for _ in range(2))
            counts = count_logs(text, known)
            whole = np.concatenate([near.summarise(around, swap, counts), _summarise(fitting, fit)])
            out.append(_Seen(whole, _describe_words(text, fit, swap, counts, around, fitting, known)))
        return out

    def _find_options(self, word: str) -> tuple[str, ...]:
        low = word.lower()
        if len(low) < _LEAST or not low.isalpha():
            return ()
        near = [other for other in find_neighbours(low, self.nearest) if other != low and other.isalpha()]
        return tuple(recase(other, word) for other in near[: self.most])

    def _find_fits(self, texts: Sequence[Text], device: str) -> list[_Fits]:
        from malaprop.models.encoders.masked_lm import open_fast_masked_lm

        options = [[self._find_options(word) for word in text.strings] for text in texts]
        asked = [field for text, own in zip(texts, options, strict=True) for field in _split_fields(text, own)]
        found = iter(open_fast_masked_lm(self.model, device).compare(asked, apart=self.apart))
        return [
            _choose(text, own, [logs for _ in text.values() for logs in next(found)])
            for text, own in zip(texts, options, strict=True)
        ]


def _split_fields(text: Text, options: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, list[Gap]]]:
    """Each field with a gap for each of its words, and in it the word itself and its neighbours."""
    fields, spans, strings = text.field_of_slots(), text.spans(), text.strings
    for number, value in enumerate(text.values()):
        slots = np.flatnonzero(fields == number).tolist()
        yield value, [Gap(*spans[slot], (strings[slot], *options[slot])) for slot in slots]


def _choose(text: Text, options: Sequence[tuple[str, ...]], logs: Sequence[Floats]) -> _Fits:
    """Of each word how well it fits, and the neighbours that fit best."""
    many = text.slots
    own, several = np.empty(many), np.zeros(many, np.bool_)
    better, words = np.full((many, _BEST), _NONE), np.repeat(text.words[:, None], _BEST, 1)
    for slot, (word, others, found) in enumerate(zip(text.strings, options, logs, strict=True)):
        several[slot] = bool(np.isnan(found[0]))
        own[slot] = -log(10) - _find_rank(word) if several[slot] else float(found[0])
        rest = np.where(np.isnan(found[1:]), -np.inf, found[1:])
        best = [i for i in np.argsort(-rest, kind="stable")[:_BEST].tolist() if np.isfinite(rest[i])]
        better[slot, : len(best)] = np.maximum(rest[best] - own[slot], _NONE)
        words[slot, : len(best)] = ids_of(text.table, [others[i] for i in best])
    return _Fits(own, several, better, words, np.asarray([len(others) for others in options], np.float64))


@lru_cache(maxsize=1 << 16)
def _find_rank(word: str) -> float:
    """The logarithm of a word's place among all words by frequency."""
    from malaprop.assets.vectors import open_neighbours

    index = open_neighbours("counter-fitted").vectors.index
    return log(index.get(word.lower(), 4 * len(index)) + 10)


def _put_fitting(text: Text, fits: _Fits) -> Variants:
    """The text itself, with each of the neighbours that fit best, and with the best of all words that fit better."""
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
    """[slot, neighbour] how far the lead falls; 0 of a neighbour that is not there."""
    there = fits.better > _NONE
    falls = np.zeros(there.shape)
    falls[there] = (leads[0] - leads[1:])[: int(there.sum())]
    return falls


def _summarise(leads: Numbers, fits: _Fits) -> Numbers:
    """Features of a text by the swaps that fit best."""
    own, together = leads[0], leads[0] - leads[-len(_BETTER) :]
    some = fits.options > 0
    falls, better, surprise = _spread_falls(leads, fits)[some, 0], fits.better[some, 0], -fits.own[some]
    weighed = np.clip(better, 0, _CAP) * np.maximum(falls, 0)
    return np.asarray([
        *_take_most(better, 4), _mean(better), *_take_most(surprise, 3), _mean(surprise),
        *_take_most(falls[better > 0], 3), *_take_most(falls[better > 2], 2), *_take_most(weighed, 2),
        falls[better > 1].sum(), *together, *(own - together), (better > 0).sum(), (better > 2).sum(),
        (better > 4).sum(), *_take_most(better[falls > own], 2), _mean((falls > own) & (better > 0)),
    ])  # fmt: skip


def _describe_words(
    text: Text,
    fits: _Fits,
    swaps: NearSwaps,
    counts: Numbers,
    around: Numbers,
    fitting: Numbers,
    known: Mapping[str, int],
) -> Numbers:
    """[slot, feature]: how well a word fits, how frequent it is, and what the victim says without it."""
    many, own, strings = text.slots, around[0], text.table.strings
    single = own - around[1:]
    without = single[len(swaps.slots) : len(swaps.slots) + many]
    up, down = np.full(many, _NONE), np.full(many, _NONE)
    for kind, chosen in ((up, swaps.upward), (down, ~swaps.upward)):
        np.maximum.at(kind, swaps.slots[chosen], single[: len(swaps.slots)][chosen])
    falls, better = _spread_falls(fitting, fits), fits.better
    weighed = (np.clip(better, 0, _CAP) * np.maximum(falls, 0)).max(1)
    best = [strings[word] for word in fits.words[:, 0].tolist()]
    ranks, others = (np.asarray([_find_rank(word) for word in words]) for words in (text.strings, best))
    rises = np.log1p([known.get(word.lower(), 0) for word in best]) - counts
    order = (without[None, :] >= without[:, None]).sum(1)
    columns = [
        fits.several, fits.own, fits.own + ranks, fits.own.mean() - fits.own if many else fits.own, *better.T, *falls.T,
        without, np.full(many, own), own - without, falls.max(1), np.maximum(up, 0), np.maximum(down, 0), up - down,
        counts, rises, ranks, ranks - others, [len(word) for word in text.strings], fits.options,
        np.full(many, many), np.arange(many) / max(1, many), np.full(many, without.max(initial=0)), order,
        [word[:1].isupper() for word in text.strings], weighed,
    ]  # fmt: skip
    return np.stack([np.asarray(column, np.float64) for column in columns], 1)


_LEAD, _WITHOUT, _FALL = 11, 10, 7  # columns of the above


def _find_replaced(lessons: Lessons) -> Iterator[NDArray[np.int64]]:
    """Of each adversarial text which of its words are not those of its original."""
    for clean, attacked in zip(lessons.clean, lessons.attacked, strict=True):
        if clean.slots == attacked.slots:
            pairs = zip(clean.strings, attacked.strings, strict=True)
            yield np.asarray([was != now for was, now in pairs], np.int64)
        else:
            there = {*clean.strings}
            yield np.asarray([word not in there for word in attacked.strings], np.int64)


def _find_fold(text: Text) -> int:
    """By the text alone, so that a text that was attacked twice is not learnt from when it is described."""
    whole = "\x1f".join(text.values()).encode("utf-8", "surrogatepass")
    return blake2b(whole, digest_size=8).digest()[0] % _FOLDS


def _learn_words(
    seen: Sequence[_Seen], replaced: Sequence[NDArray[np.int64]], which: Sequence[int]
) -> Mapping[str, NDArray[Any]]:
    """Trees that say of a word whether it was replaced."""
    x, y = np.concatenate([seen[at].words for at in which]), np.concatenate([replaced[at] for at in which])
    return fit_trees(x, y) if 0 < y.sum() < len(y) else {}


def _join(seen: _Seen, trees: Mapping[str, NDArray[Any]]) -> Numbers:
    """The features of a text, and behind them what trees over words say of it."""
    odds = apply_trees(trees, seen.words) if trees and len(seen.words) else np.empty(0)
    sure = 1 / (1 + np.exp(-odds))
    lead, without, fall = (np.maximum(seen.words[: len(odds), at], 0) for at in (_LEAD, _WITHOUT, _FALL))
    weighed = sure * without
    return np.asarray([
        *seen.whole, *_take_most(odds - _NONE, 5), _mean(odds), sure.sum(), np.log1p(-np.minimum(sure, 1 - 1e-6)).sum(),
        weighed.sum(), weighed.max(initial=0), _mean(lead), (sure * fall).sum(),
    ])  # fmt: skip


@lru_cache(maxsize=8)
def _take_word_trees(learnt: Learnt) -> Mapping[str, NDArray[Any]]:
    return {key.removeprefix(_WORDS): value for key, value in learnt.arrays.items() if key.startswith(_WORDS)}


def _take_most(values: Numbers, many: int) -> list[float]:
    """The largest, padded with zeros."""
    found: list[float] = np.sort(values)[::-1][:many].tolist()
    return found + [0.0] * (many - len(found))


def _mean(values: Numbers | NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else 0.0
