"""TokenMixture: a distribution over the words of every slot, learnt by gradient descent and then sampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.gradient.look import aim
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.gradient import MixLook
from malaprop.core.score import Flags, Floats
from malaprop.core.text import Ints
from malaprop.core.variants import Variants

_GRID = 1e-4  # gradients are rounded to it: the rounding of a batch must not grow over a hundred steps
_BARRED = -1e4  # the logit of a word that cannot be drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMixture:
    """Learns a distribution over the words of every slot by gradient descent, and samples texts (Guo et al. 2021).

    Every slot has a logit for each of its words; that of the original word begins at `first`. At each of `rounds` steps
    `batch` mixtures are drawn by Gumbel-softmax, and Adam moves the logits by `rate` until the label loses by a margin
    of `margin`; `near` weighs the distance from the original word. Then `samples` texts are drawn; of those that reach
    the goal the one with the fewest changes is taken. A forward and backward pass over a mixture counts as a query.
    """

    rounds: int = 100
    batch: int = 10
    samples: int = 100
    rate: float = 0.3
    first: float = 5.0
    margin: float = 5.0
    near: float = 2.0

    def __post_init__(self) -> None:
        if min(self.rounds, self.batch, self.samples) < 1 or self.rate <= 0 or min(self.first, self.near) < 0:
            raise SettingError(
                "TokenMixture needs rounds, batch and samples of at least 1, a rate above 0, and first and near of at "
                "least 0"
            )

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        words, samples = _SlotWords(trial, space.able()), self.samples
        rounds = self.rounds
        if trial.attack.budget is not None:  # a quarter of the remaining queries is for the sampled texts
            left = trial.attack.budget - trial.asked
            samples = max(1, min(samples, left // 4))
            rounds = min(rounds, (left - samples) // self.batch)
        logits = np.where(words.own, self.first, 0.0)
        mean, square = np.zeros_like(logits), np.zeros_like(logits)
        for step in range(1, rounds + 1):
            shares = words.softmax(logits + trial.rng.gumbel(size=(self.batch, len(logits))))
            shares = shares[: trial.spend(self.batch)]
            trial.tried += len(shares)
            look = MixLook(
                text=trial.origin, aim=aim(trial, odds=True), slots=words.slots, words=words.options,
                shares=shares.astype(np.float32),
            )  # fmt: skip
            (seen,) = yield Ask("gradient", [look])
            logits[seen.barred] = _BARRED
            pushes = np.where(seen.odds < self.margin, 1.0, 0.0)[:, None] * seen.slopes - self.near * words.far
            slope = words.through_softmax(shares, pushes).mean(0)
            slope = np.where(seen.barred, 0, np.round(slope / _GRID) * _GRID)
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope * slope
            logits += self.rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        found = yield from self._draw(trial, words, logits, samples)
        return found or start

    def _draw(self, trial: Trial, words: _SlotWords, logits: NDArray[np.float64], many: int) -> Steps[Held | None]:
        """Sample texts; return the one with the fewest changes that reaches the goal, else the best."""
        noise = trial.rng.gumbel(size=(many, len(logits)))
        noise[0] = 0  # the likeliest text
        drawn = Variants.between(trial.origin, [trial.origin.refilled(row) for row in words.choose(logits + noise)])
        drawn = drawn.keep(_distinct(drawn) & (drawn.changes(trial.origin) > 0))
        (scored,) = yield from trial.score([drawn])
        hits = np.flatnonzero(scored.reached)
        for index in hits[np.argsort(scored.variants.changes(trial.origin)[hits], kind="stable")].tolist():
            if (yield from trial.admit([scored.variants.pick(index)])).all():
                return trial.take(scored, index)
        (found,) = yield from trial.choose([scored], [None if trial.held is None else trial.held.value])
        return found


class _SlotWords:
    """The words of all open slots as one flat array, each slot's own word first."""

    def __init__(self, trial: Trial, able: Space) -> None:
        origin = trial.origin.words
        self.trial, self.slots = trial, able.slots
        self.options: list[Ints] = [
            np.concatenate([origin[s : s + 1], words]) for s, words in zip(able.slots.tolist(), able.words, strict=True)
        ]
        self.flat = np.concatenate(self.options)
        sizes = np.fromiter(map(len, self.options), np.int64, len(self.options))
        self.starts = np.cumsum(sizes) - sizes
        self.whose = np.repeat(np.arange(len(sizes)), sizes)
        self.own: Flags = np.isin(np.arange(len(self.flat)), self.starts)
        self.far = self._distances()

    def _distances(self) -> Floats:
        """Return one minus the cosine of each word with its slot's own, 0 to 2; 1 where it is unknown."""
        from malaprop.assets.vectors import open_vectors

        vectors, strings = open_vectors("counter-fitted"), self.trial.origin.table.strings
        out = []
        for words in self.options:
            own, *others = (strings[word].lower() for word in words.tolist())
            out.append(np.concatenate([[0.0], 1 - np.nan_to_num(vectors.cosine(own, others), nan=0.0)]))
        return np.concatenate(out).astype(np.float32)

    def softmax(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the softmax [sample, word] within each slot."""
        top = np.maximum.reduceat(logits, self.starts, axis=1)[:, self.whose]
        made = np.exp(logits - top)
        return np.asarray(made / np.add.reduceat(made, self.starts, axis=1)[:, self.whose])

    def through_softmax(self, shares: NDArray[np.float64], slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient by the logits, from that by the shares."""
        mean = np.add.reduceat(shares * slopes, self.starts, axis=1)[:, self.whose]
        return np.asarray(shares * (slopes - mean))

    def choose(self, logits: NDArray[np.float64]) -> list[Ints]:
        """Return for each sample the words of the text, with the word of the largest logit in each open slot."""
        top = np.maximum.reduceat(logits, self.starts, axis=1)[:, self.whose]
        out = []
        for row in logits == top:
            words = self.trial.origin.words.copy()
            places = np.flatnonzero(row)
            words[self.slots[self.whose[places]]] = self.flat[places]
            out.append(words)
        return out


def _distinct(variants: Variants) -> Flags:
    """Flag the first of equal texts."""
    first = {variants.pick(i).parts.tobytes(): i for i in reversed(range(variants.count))}
    flags = np.zeros(variants.count, np.bool_)
    flags[list(first.values())] = True
    return flags
