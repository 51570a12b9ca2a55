"""Bayesian search for small query budgets: a Gaussian process chooses the texts to query."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.search.local import shorten
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats, ranked
from malaprop.core.text import Ints
from malaprop.core.variants import Variants

_ROUND = 1e-4  # of an expected improvement: what the rounding of a batch moves, and must not decide
_TRUST = 0.5  # the gain expected of a replacement, as a share of the gain from leaving the word out


@dataclass(frozen=True, slots=True, kw_only=True)
class Bayes:
    """Searches blocks of `block` neighbouring slots, first the block whose omission gains most (Lee et al. 2022).

    Within a block each word is left out once to estimate its importance. Then a Gaussian process over the choices of
    words is fitted to all queries so far and the `batch` texts of the greatest expected improvement are queried, at
    most `rounds` times. `restore` puts back the words that a success does not need.
    """

    block: int = 40
    batch: int = 2
    rounds: int = 40
    restore: bool = True

    def __post_init__(self) -> None:
        if min(self.block, self.batch, self.rounds) < 1:
            raise SettingError(
                f"Bayes needs block, batch and rounds of at least 1, got {self.block}, {self.batch} and {self.rounds}"
            )

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        able, now = space.able(), start
        places = [np.arange(at, min(at + self.block, len(able.slots))) for at in range(0, len(able.slots), self.block)]
        if len(places) > 1:
            places = yield from _rank_blocks(trial, start, able, places)
        for block in places:
            part = Space(able.slots[block], [able.words[i] for i in block.tolist()])
            now = yield from self._climb(trial, now, part)
            if now.reached:
                return (yield from shorten(trial, now)) if self.restore else now
        return now

    def _climb(self, trial: Trial, base: Held, space: Space) -> Steps[Held]:
        """Return the best text found that differs from the base in slots of this space alone."""
        (scored,) = yield from trial.score([_holes(base, space.slots)], probes=1)
        mean = np.zeros(len(space.slots))
        known = _Known(trial, base, space)
        mean[: len(scored.values)] = _TRUST * np.maximum(known.effects(scored.values), 0)
        now = base
        for _ in range(self.rounds):
            asked = known.suggest(mean, self.batch)
            if not len(asked):
                break
            variants = known.variants(asked)
            fine = trial.allows(variants)
            known.note(asked[~fine], None)
            (scored,) = yield from trial.score([variants.keep(fine)])
            known.note(asked[fine][: len(scored.values)], scored.values)
            (found,) = yield from trial.choose([scored], [now.value])
            if found is not None:
                now = found
                known.best = known.row_of(found)
            if now.reached:
                break
        return now


class _Known:
    """The queried texts of one block, as rows of choices (0: the word of the base), with their effects."""

    def __init__(self, trial: Trial, base: Held, space: Space) -> None:
        self.trial, self.base, self.space = trial, base, space
        sizes = space.sizes
        self.flat, self.starts = np.concatenate(space.words), np.cumsum(sizes) - sizes
        self.slots = np.repeat(np.arange(len(sizes)), sizes)  # of every choice of every slot
        self.choices = np.arange(len(self.slots)) - self.starts[self.slots] + 1
        self.marks = np.random.default_rng(0).integers(1 << 62, size=len(self.slots))  # a row's key is their sum
        self.rows: Ints = np.zeros((0, len(sizes)), np.int64)
        self.gains: Numbers = np.zeros(0)
        self.best: Ints = np.zeros(len(sizes), np.int64)
        self.done: Ints = np.zeros(0, np.int64)  # the keys of rows that were queried or refused

    def effects(self, values: Floats) -> Numbers:
        """Return the gains of texts on the base, on a scale on which the effects of words add up."""
        return _stretch(values) - _stretch(np.asarray([self.base.value], np.float32))

    def note(self, rows: Ints, values: Floats | None) -> None:
        """Record rows that were queried, with their values; None for rows that a constraint refused."""
        self.done = np.concatenate([self.done, [self._key(row) for row in rows]]).astype(np.int64)
        if values is not None:
            self.rows = np.concatenate([self.rows, rows])
            self.gains = np.concatenate([self.gains, self.effects(values)])

    def row_of(self, held: Held) -> Ints:
        words = held.text.words[self.space.slots]
        out = np.zeros(len(words), np.int64)
        for i in np.flatnonzero(words != self.base.text.words[self.space.slots]).tolist():
            out[i] = 1 + int(np.flatnonzero(self.space.words[i] == words[i])[0])
        return out

    def variants(self, rows: Ints) -> Variants:
        row, place = np.nonzero(rows)
        words = self.flat[self.starts[place] + rows[row, place] - 1]
        return Variants(self.base.text, self.space.slots[place], words, row, len(rows))

    def suggest(self, mean: Numbers, count: int) -> Ints:
        """Return the rows to query next, those of the greatest expected improvement.

        The search starts at the best row and changes one slot at a time for as long as the expectation rises.
        """
        model = Surrogate.fit(self.rows, self.gains, mean) if len(self.rows) else None
        best = max(0.0, float(self.gains.max())) if len(self.gains) else 0.0
        chosen: list[Ints] = []
        here, gain = self.best, -np.inf
        for _ in range(len(mean)):
            fresh = np.flatnonzero((here[self.slots] != self.choices) & ~np.isin(self._keys_around(here), self.done))
            if not len(fresh):
                break
            hopes = _hope(model, here, self.slots[fresh], self.choices[fresh], mean, best)
            order = np.argsort(-np.round(hopes / _ROUND), kind="stable")
            top = float(hopes[order[0]])
            if top <= gain * 1.01 + _ROUND:
                break
            chosen = []
            for i in fresh[order[:count]].tolist():
                row = here.copy()
                row[self.slots[i]] = self.choices[i]
                chosen.append(row)
            here, gain = chosen[0], top
        return np.asarray(chosen, np.int64).reshape(len(chosen), len(mean))

    def _key(self, row: Ints) -> int:
        at = np.flatnonzero(row)
        return int(self.marks[self.starts[at] + row[at] - 1].sum())

    def _keys_around(self, row: Ints) -> Ints:
        """Return for each choice of each slot the key of the row with that choice."""
        own = np.where(row > 0, self.marks[self.starts + np.maximum(row, 1) - 1], 0)
        return np.asarray(self._key(row) - own[self.slots] + self.marks)


def _hope(model: Surrogate | None, row: Ints, slots: Ints, choices: Ints, mean: Numbers, best: float) -> Numbers:
    """Return the expected improvement of each choice, or its prior mean before any text was queried."""
    if model is None:
        return np.asarray(float(mean[row > 0].sum()) + mean[slots] * (row[slots] == 0) + 10 * _ROUND)
    return improve(*model.expect(row, slots, choices), best)


def _stretch(values: Floats) -> Numbers:
    """Return probabilities as log-odds, in which the effects of words add up; other scores unchanged."""
    wide = values.astype(np.float64)
    if len(wide) and (wide.min() < 0 or wide.max() > 1):
        return wide
    inside = np.clip(wide, 1e-6, 1 - 1e-6)
    return np.log(inside) - np.log1p(-inside)


def _holes(base: Held, slots: Ints) -> Variants:
    return Variants(base.text, slots, np.zeros(len(slots), np.int64))


def _rank_blocks(trial: Trial, start: Held, space: Space, places: list[Ints]) -> Steps[list[Ints]]:
    """Return the blocks in the order of the gain from leaving all their words out."""
    sizes = np.fromiter(map(len, places), np.int64, len(places))
    whole = Variants(
        start.text,
        space.slots,
        np.zeros(len(space.slots), np.int64),
        np.repeat(np.arange(len(places)), sizes),
        len(places),
    )
    (scored,) = yield from trial.score([whole], probes=1)
    gains = np.full(len(places), start.value, np.float32)
    gains[: len(scored.values)] = scored.values
    return [places[i] for i in ranked(gains).tolist()]


Numbers = NDArray[np.float64]
_NOISE = 1e-4  # of the variance of what was seen: keeps the matrix well-conditioned
_SHARED = 0.5  # how much two replacements of one word have in common: that the word is gone


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """A Gaussian process over the effects of texts; `seen` [text, slot] numbers the replacements, 0 for the original.

    The kernel is a sum over slots, each weighed by its importance (`weights`): 1 for the same replacement, half for
    another one, 0 where the original word stands; plus the square of that sum, for pairs of slots. So the effect of the
    original is 0 for certain. `mean` is the prior effect of a replacement in each slot.
    """

    seen: Ints  # [text, slot]
    mean: Numbers  # [slot]
    weights: Numbers  # [slot]
    scale: float
    factor: Numbers  # [text, text], lower triangle
    solved: Numbers  # [text]

    @classmethod
    def fit(cls, seen: Ints, effects: Numbers, mean: Numbers) -> Surrogate:
        """Fit the process to texts and their effects."""
        rest = effects - (seen > 0) @ mean
        weights = np.full(seen.shape[1], 1 / seen.shape[1]) + np.abs(mean) / max(np.abs(mean).sum(), 1e-9)
        weights /= weights.sum()
        scale = max(float(np.mean(rest**2)), float(np.mean(mean**2)), 1e-6) * seen.shape[1]
        sums = sum(_shares(seen, weights, slot, seen[:, slot]) for slot in range(seen.shape[1]))
        kernel = scale * (sums + sums**2)
        kernel[np.diag_indices(len(seen))] += _NOISE * scale + 1e-8
        factor = np.linalg.cholesky(kernel)
        solved = np.linalg.solve(factor.T, np.linalg.solve(factor, rest))
        return cls(seen, mean, weights, scale, factor, solved)

    def expect(self, row: Ints, slots: Ints, choices: Ints) -> tuple[Numbers, Numbers]:
        """Return mean and standard deviation of the effect of the texts that differ from a row by one choice each."""
        changed = (choices > 0).astype(np.float64) - (row[slots] > 0)
        own = float(self.weights[row > 0].sum()) + self.weights[slots] * changed
        at = np.flatnonzero(row)
        sums = _shares(self.seen, self.weights, at, row[at]).sum(0)
        sums = sums + _shares(self.seen, self.weights, slots, choices)
        sums -= _shares(self.seen, self.weights, slots, row[slots])
        cross = self.scale * (sums + sums**2)
        means = float(self.mean[row > 0].sum()) + self.mean[slots] * changed + cross @ self.solved
        half = np.linalg.solve(self.factor, cross.T)
        return means, np.sqrt(np.maximum(self.scale * (own + own**2) - (half**2).sum(0), 1e-12))


def _shares(seen: Ints, weights: Numbers, slots: Ints | int, choices: Ints) -> Numbers:
    """Return the kernel between each choice in its slot and what each seen text has there [choice, text]."""
    slots = np.broadcast_to(slots, choices.shape)
    there = seen[:, slots].T
    alike = np.where(there == choices[:, None], 1.0, _SHARED) * (there > 0)
    found: Numbers = alike * (weights[slots] * (choices > 0))[:, None]
    return found


def improve(means: Numbers, spreads: Numbers, best: float) -> Numbers:
    """Return the expected improvement on the best: the mean of max(0, effect - best) under each normal distribution."""
    ahead = (means - best) / spreads
    density = np.exp(-0.5 * ahead**2) / sqrt(2 * np.pi)
    return spreads * (ahead * _cumulative(ahead) + density)


def _cumulative(z: Numbers) -> Numbers:
    """Return the normal distribution function (Abramowitz and Stegun 7.1.26, error below 1.5e-7)."""
    x = np.abs(z) / sqrt(2)
    t = 1 / (1 + 0.3275911 * x)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * poly * np.exp(-(x**2))
    return np.where(z > 0, 1 - tail, tail)
