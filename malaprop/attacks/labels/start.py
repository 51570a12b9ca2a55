"""The start of attacks that see only labels: random replacements until the label changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from malaprop.attacks.constraints.edits import words_within
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags, Scored
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants

_FIRST, _LARGEST = 8, 64  # random texts in one batch of queries: few at first, as most labels turn early
_RAMP = 32  # draws over which the number of changed words rises from one to all of them
_RANDOM = _FIRST + 2 * _FIRST + 4 * _FIRST  # random texts before `Leaning` is used
_FEW = 512  # a space of at most so many texts is tried completely
_LOOKS, _ROOM = 96, 192  # replacements tried in one text near the border, and the queries that must be left for it


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomStart:
    """Queries random texts, at most `trials`, until the label turns.

    The first texts have one word replaced, later ones up to `share` of the words. If the first 56 do not turn the
    label, `Leaning` finds the replacements that lean towards another label, and these are drawn more often. Of the
    texts of one batch that turn the label, the one with the fewest changes is taken.
    """

    trials: int = 2500
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.trials < 1 or not 0 < self.share <= 1:
            raise SettingError(
                f"RandomStart needs trials >= 1 and a share in (0, 1], got {self.trials} and {self.share}"
            )

    def flip(self, trial: Trial, able: Space) -> Steps[Held | None]:
        """Find a text of another label; None, with a reason in the trial, where no random text has one."""
        many, most = _count_texts(able), min(len(able.slots), words_within(self.share, len(trial.open())))
        few = many <= min(self.trials, _FEW)
        draws = _draw_all(trial, able, int(many)) if few else _draw_more(trial, able, most)
        leaning = None if few else Leaning(trial, able)
        end, drawn, tried = trial.asked + self.trials, 0, 0
        while (left := end - trial.asked) > 0 and drawn < self.trials:
            if leaning is not None and drawn >= _RANDOM:
                found = left > _ROOM and (yield from leaning.look(_LOOKS))
                leaning = leaning if found else None
            choices = leaning.draw(_FIRST, most) if leaning is not None and drawn >= _RANDOM else next(draws, None)
            if choices is None:
                break
            drawn += len(choices)
            scored = yield from ask_labels(trial, _texts(trial, able, choices[: end - trial.asked]))
            tried += len(scored.values)
            hits = np.flatnonzero(scored.reached)
            if len(hits):
                trial.notes["flip_queries"] = float(trial.asked)
                return trial.take(scored, int(hits[np.argmin(scored.variants.changes(trial.origin)[hits])]))
            trial.reason = f"the label did not turn in {tried:,} random trials"
        return None


def _count_texts(able: Space) -> float:
    """Count the texts beside the original; infinite for a long one."""
    with np.errstate(over="ignore"):
        return float(np.prod(able.sizes + 1.0)) - 1


def _draw_all(trial: Trial, able: Space, many: int) -> Iterator[Ints]:
    """Yield every text once, in random order, as blocks [draw, place]: 0 for the original word, else a replacement."""
    order = 1 + trial.rng.permutation(many)
    for start, block in _blocks():
        if start >= many:
            return
        yield np.stack(np.unravel_index(order[start : start + block], tuple(able.sizes + 1)), 1)


def _draw_more(trial: Trial, able: Space, most: int) -> Iterator[Ints]:
    """Yield random texts without end, with more and more words replaced, as blocks like those of `_draw_all`."""
    sizes, rng = able.sizes, trial.rng
    for start, block in _blocks():
        changes = np.ceil((start + 1 + np.arange(block)) * most / min(_RAMP, most))
        rank = np.argsort(np.argsort(rng.random((block, len(sizes))), 1), 1)
        drawn = 1 + (rng.random((block, len(sizes))) * sizes).astype(np.int64)
        yield np.where(rank < np.minimum(changes, most)[:, None], drawn, 0)


def _blocks() -> Iterator[tuple[int, int]]:
    """Yield start and size of each block of draws."""
    start, block = 0, _FIRST
    while True:
        yield start, block
        start, block = start + block, min(2 * block, _LARGEST)


def _texts(trial: Trial, able: Space, choices: Ints) -> Variants:
    sizes = able.sizes
    rows, places = np.nonzero(choices)
    words = np.concatenate(able.words)[(np.cumsum(sizes) - sizes)[places] + choices[rows, places] - 1]
    return Variants(trial.origin, able.slots[places], words, rows, len(choices))


def ask_labels(trial: Trial, variants: Variants) -> Steps[Scored]:
    """Query the victim; `reached` says where the label has turned and every constraint is kept.

    Such a search ends near the border, so a turn within the rounding of a fast answer is confirmed by an exact one.
    """
    (scored,) = yield from trial.score([variants])
    scored = yield from trial.confirmed(scored)
    flags = scored.reached
    if not flags.any():
        return scored
    hits = Scored(scored.variants.keep(flags), scored.answers[flags], scored.values[flags], flags[flags])
    reached = flags.copy()
    reached[flags] = yield from trial.admit_all(hits)
    return replace(scored, reached=reached)


_BLOCK = 8  # texts in one batch of queries, each with fewer of its words than the one before
_LEFT_OUT, _EXCHANGED = 2, 4  # batches whose words are left out, and then exchanged for frequent words
_FREQUENT = 5000  # the most frequent words of the vocabulary, of which random ones are put in


class Leaning:
    """Counts for each replacement in how many texts near the border it was tried, and in how many the label turned.

    Far from the border no single exchange turns the label. So words are left out until the label turns, and restored to
    just before it does: there a single replacement matters. Such texts are probes and never an outcome.
    """

    def __init__(self, trial: Trial, able: Space) -> None:
        self.trial, self.able = trial, able
        self._places = np.repeat(np.arange(len(able.slots)), able.sizes)  # of each replacement
        self._words = np.concatenate(able.words)
        self._turned, self._tried = np.zeros((2, len(self._words)), np.int64)

    def look(self, most: int) -> Steps[bool]:
        """Try at most `most` replacements in one more text near the border; return whether such a text was found."""
        near = yield from self._approach()
        if near is None:
            return False
        slots = self.able.slots[self._places]
        some = np.flatnonzero(near.words[slots] == self.trial.origin.words[slots])
        some = np.sort(self.trial.rng.permutation(some)[:most])
        flags = yield from _ask(self.trial, Variants(near, slots[some], self._words[some]))
        some = some[: len(flags)]  # what the budget covered
        self._tried[some] += 1
        self._turned[some] += flags
        return True

    def draw(self, many: int, most: int) -> Ints:
        """Draw texts [draw, place]: the number of a replacement, 0 for the original word, with at most `most` replaced.

        Replacements that turned the label often, or were hardly tried, are likelier (Thompson sampling).
        """
        rng, size = self.trial.rng, (many, len(self._words))
        missed = self._tried - self._turned
        chance = rng.beta(np.broadcast_to(self._turned + 0.5, size), np.broadcast_to(missed + 0.5, size))
        split = np.split(chance, np.cumsum(self.able.sizes)[:-1], axis=1)
        best = np.stack([part.max(1) for part in split], 1)
        choice = np.stack([1 + part.argmax(1) for part in split], 1)
        changes = rng.integers((most + 1) // 2, most + 1, size=(many, 1))
        return np.where(np.argsort(np.argsort(-best, 1), 1) < changes, choice, 0)

    def _approach(self) -> Steps[Text | None]:
        """Find a text whose label has not turned, but would with one more of its words left out or exchanged."""
        slots = self.trial.open()
        if len(slots) < 2:
            return None
        counts = np.maximum(1, (1 + np.arange(_BLOCK)) * (len(slots) - 1) // _BLOCK)
        for block in range(_LEFT_OUT + _EXCHANGED):
            orders = self.trial.rng.permuted(np.tile(slots, (_BLOCK, 1)), axis=1)
            words = np.zeros_like(orders) if block < _LEFT_OUT else self._draw_frequent(orders.shape)
            flags = yield from _ask(self.trial, _exchange(self.trial.origin, orders, words, counts))
            if flags.any():
                first = int(np.argmax(flags))
                return (yield from self._return(orders[first], words[first], int(counts[first])))
        return None

    def _return(self, order: Ints, words: Ints, turned: int) -> Steps[Text]:
        """Bisect how many words of an order to exchange; return the text one exchange before the label turns."""

        def exchange(count: int) -> Variants:
            return _exchange(self.trial.origin, order[None], words[None], np.asarray([count]))

        stays = 0
        while turned - stays > 1:
            half = (stays + turned) // 2
            flags = yield from _ask(self.trial, exchange(half))
            stays, turned = (stays, half) if flags.any() else (half, turned)
        return exchange(stays).pick(0)

    def _draw_frequent(self, shape: tuple[int, ...]) -> Ints:
        from malaprop.assets.vectors import open_vectors

        known = open_vectors("counter-fitted").words[:_FREQUENT]
        drawn = self.trial.rng.integers(len(known), size=shape)
        return self.trial.origin.table.ids(known[i] for i in drawn.ravel().tolist()).reshape(shape)


def _exchange(origin: Text, orders: Ints, words: Ints, counts: Ints) -> Variants:
    """Return texts with other words (0: left out) in the first `counts` slots of their orders [text, slot]."""
    rows, places = np.nonzero(np.arange(orders.shape[1]) < counts[:, None])
    return Variants(origin, orders[rows, places], words[rows, places], rows, len(orders))


def _ask(trial: Trial, variants: Variants) -> Steps[Flags]:
    (scored,) = yield from trial.score([variants], probes=1)
    return (yield from trial.confirmed(scored)).reached
