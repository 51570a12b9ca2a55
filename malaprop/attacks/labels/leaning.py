"""Which replacements lean towards another label, where the label alone is seen and nothing has turned it yet."""

from __future__ import annotations

import numpy as np

from malaprop.attacks.trial import Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.score import Flags
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants

_BLOCK = 8  # texts with ever fewer of their words that are asked together
_LEFT_OUT, _EXCHANGED = 2, 4  # blocks whose words are left out, and then exchanged for frequent words
_FREQUENT = 5000  # words of the vocabulary that are drawn from


class Leaning:
    """Of each replacement: in how many texts near the border it was tried, and in how many it turned the label.

    Far from the border nothing is to be seen: whatever word is exchanged, the label stays. So words are left out until
    the label turns, and put back to just before it does: there a single replacement is seen to matter. Such texts are
    probes and never an outcome.
    """

    def __init__(self, trial: Trial, able: Space) -> None:
        self.trial, self.able = trial, able
        self._places = np.repeat(np.arange(len(able.slots)), able.sizes)  # of each replacement
        self._words = np.concatenate(able.words)
        self._turned, self._tried = np.zeros((2, len(self._words)), np.int64)

    def look(self, most: int) -> Steps[bool]:
        """Tries replacements, at most so many, in one more text near the border; False where none was found."""
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
        """[draw, place] the number of a replacement, 0 for the original word, in at most `most` places of a draw.

        What turned the label more often is likelier to be drawn, and so is what was hardly tried (Thompson sampling).
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
        """A text whose label has not turned, but would with one more of its words left out or exchanged."""
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
        """Fewer words of an order exchanged, found by halving: the label has not turned, and with one more it has."""

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
    """Texts with other words, 0 for none, in the first slots of their orders [text, slot]."""
    rows, places = np.nonzero(np.arange(orders.shape[1]) < counts[:, None])
    return Variants(origin, orders[rows, places], words[rows, places], rows, len(orders))


def _ask(trial: Trial, variants: Variants) -> Steps[Flags]:
    (scored,) = yield from trial.score([variants], probes=1)
    return (yield from trial.confirmed(scored)).reached
