"""Particle swarm search: texts that drift towards the best that each of them and all together have seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.search.genetic import Replacements
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, Floats, Scored
from malaprop.core.text import Ints
from malaprop.core.variants import Variants

_SPEED = 3.0  # the greatest velocity: a word turns with a probability of 0.047 to 0.953
_FIRST, _LAST = 0.8, 0.2  # of the inertia and of the pull of a text's own best; that of the best of all mirrors it


@dataclass(frozen=True, slots=True, kw_only=True)
class Swarm:
    """A swarm of `size` texts over `rounds` rounds (Zang et al. 2020).

    Each text begins with one word replaced by the best replacement of its slot, in a slot likelier the more it gains.
    In a round each word of a text turns to that of the best text that this member has seen, and to that of the best of
    all, with a probability that depends on its velocity; then a text mutates, likelier the less of it is changed, by
    one more such replacement. The best replacement of a slot is found on the original; with `anew` it is found again
    for each text that mutates, which takes hundreds of queries for each (TextAttack).
    """

    size: int = 60
    rounds: int = 20
    anew: bool = False

    def __post_init__(self) -> None:
        if self.size < 1 or self.rounds < 1:
            raise SettingError(f"Swarm needs size and rounds of at least 1, got {self.size} and {self.rounds}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        flock = _Flock(self, trial, start, space.able())
        yield from flock.begin()
        for number in range(self.rounds):
            if flock.reached.any():
                break
            yield from flock.drift(number / self.rounds)
            if flock.reached.any():
                break
            yield from flock.mutate()
            flock.remember()
        return trial.held or start


class _Flock:
    """The swarm as arrays over the slots that may change: words, values, the best of each member, velocities."""

    def __init__(self, search: Swarm, trial: Trial, start: Held, space: Space) -> None:
        self.search, self.trial, self.space, self.start = search, trial, space, start
        self.options = Replacements(trial, space)
        self.origin = trial.origin.words
        self.rows: Ints = np.tile(self.origin, (search.size, 1))
        self.values: Floats = np.full(search.size, start.value, np.float32)
        self.reached: NDArray[np.bool_] = np.zeros(search.size, np.bool_)
        speeds = trial.rng.uniform(-_SPEED, _SPEED, search.size)
        self.speeds = np.tile(speeds[:, None], (1, trial.origin.slots))
        self.own_rows, self.own_values = self.rows.copy(), self.values.copy()
        self.top_row, self.top_value = self.origin, np.float32(start.value)
        self.words: Ints = self.origin[space.slots]  # the best replacement of each slot, on the original
        self.gains: Floats = np.zeros(len(space.slots), np.float32)

    def begin(self) -> Steps[None]:
        """Find the best replacement of each slot, and give each member one of them."""
        swaps = Variants.each(self.start.text, self.space.slots, self.space.words)
        fine = self.trial.allows(swaps)
        places = np.repeat(np.arange(len(self.space.slots)), self.space.sizes)[fine]
        (scored,) = yield from self.trial.score([swaps.keep(fine)])
        floors = np.full(len(self.space.slots), -np.inf, np.float32)
        chosen = yield from self.trial.choose_each(scored, places[: len(scored.values)], floors)
        found = np.flatnonzero(chosen >= 0)
        chosen = chosen[found]
        self.words[found] = scored.variants.words[chosen]
        self.gains[found] = scored.values[chosen] - np.float32(self.start.value)
        values = np.full(len(floors), self.start.value, np.float32)
        values[found] = scored.values[chosen]
        reached = np.zeros(len(floors), np.bool_)
        reached[found] = scored.reached[chosen]
        self.trial.hold_best(scored, chosen)
        drawn = self._draw(np.tile(self.gains, (self.search.size, 1)))
        self.rows[np.arange(self.search.size), self.space.slots[drawn]] = self.words[drawn]
        self.values, self.reached = values[drawn], reached[drawn]
        self.remember()

    def _draw(self, gains: Floats) -> Ints:
        """Draw a place for each member, likelier the greater the gain there; evenly where none gains."""
        odds = np.maximum(np.round(gains.astype(np.float64) / SLACK), 0)
        odds[~odds.any(1)] = 1
        reach = np.cumsum(odds, 1)
        drawn = self.trial.rng.random(len(odds)) * reach[:, -1]
        return np.asarray((reach <= drawn[:, None]).sum(1))

    def drift(self, done: float) -> Steps[None]:
        """Turn each member towards its own best text and the best of all; `done` is the share of the rounds past."""
        inertia = (_FIRST - _LAST) * (1 - done) + _LAST
        pulls = (_FIRST - done * (_FIRST - _LAST), _LAST + done * (_FIRST - _LAST))
        apart = [np.where(self.rows == goal, -_SPEED, _SPEED) for goal in (self.own_rows, self.top_row[None])]
        self.speeds = inertia * self.speeds + (1 - inertia) * (apart[0] + apart[1])
        chance = 1 / (1 + np.exp(-self.speeds))
        rng, rows = self.trial.rng, self.rows
        for goal, pull in zip((self.own_rows, self.top_row[None]), pulls, strict=True):
            goes = rng.random(len(rows)) < pull
            turned = np.where(rng.random(rows.shape) < chance, rows, goal)
            rows = np.where(goes[:, None], turned, rows)
        yield from self._become(np.arange(len(rows)), rows)

    def mutate(self) -> Steps[None]:
        """Give members one more replacement, likelier the less of them is changed."""
        differs = self.rows != self.origin
        chance = 1 - 2 * differs.sum(1) / max(1, len(self.trial.open()))
        free = ~differs[:, self.space.slots]
        who = np.flatnonzero((self.trial.rng.random(len(chance)) < chance) & free.any(1))
        if self.search.anew:
            yield from self._mutate_anew(who)
            return
        gains = np.where(free[who], np.maximum(self.gains, 2 * SLACK), 0)
        drawn = self._draw(gains)
        rows = self.rows[who]
        rows[np.arange(len(who)), self.space.slots[drawn]] = self.words[drawn]
        yield from self._become(who, rows)

    def _mutate_anew(self, who: Ints) -> Steps[None]:
        """Mutate these members, querying for each which replacement gains most in each slot."""
        member, place = np.nonzero(self.rows[who][:, self.space.slots] == self.origin[self.space.slots])
        tries, words, group = yield from self.options.try_slots(self.rows[who[member]], place)
        fine = self.trial.allows(tries)
        (scored,) = yield from self.trial.score([tries.keep(fine)])
        words, group = (a[fine][: len(scored.values)] for a in (words, group))
        chosen = yield from self.trial.choose_each(scored, group, np.full(len(member), -np.inf, np.float32))
        gains = np.zeros((len(who), len(self.space.slots)), np.float32)
        found = np.flatnonzero(chosen >= 0)
        gains[member[found], place[found]] = scored.values[chosen[found]] - self.values[who[member[found]]]
        picks = np.full(gains.shape, -1, np.int64)
        picks[member[found], place[found]] = chosen[found]
        drawn = self._draw(gains)
        taken = picks[np.arange(len(who)), drawn]
        moved = np.flatnonzero(taken >= 0)
        taken = taken[moved]
        self.rows[who[moved], self.space.slots[drawn[moved]]] = words[taken]
        self._live(who[moved], scored, taken)

    def _become(self, who: Ints, rows: Ints) -> Steps[None]:
        """Give these members these words, where the constraints allow it and the budget covers the query."""
        row, slot = np.nonzero(rows != self.origin)
        texts = Variants(self.trial.origin, slot, rows[row, slot], row, len(rows))
        allowed = np.flatnonzero(self.trial.allows(texts))
        (scored,) = yield from self.trial.score([texts])
        chosen = np.flatnonzero((yield from self.trial.admit_all(scored)))
        yield from self.trial.settle([scored], [chosen])
        lives = allowed[chosen]
        self.rows[who[lives]] = rows[lives]
        self._live(who[lives], scored, chosen)

    def _live(self, who: Ints, scored: Scored, chosen: Ints) -> None:
        self.values[who], self.reached[who] = scored.values[chosen], scored.reached[chosen]
        self.trial.hold_best(scored, chosen)

    def remember(self) -> None:
        """Update the best text of each member and of the swarm."""
        better = np.flatnonzero(self.values > self.own_values + SLACK)
        self.own_rows[better], self.own_values[better] = self.rows[better], self.values[better]
        top = int(np.argmax(self.own_values >= self.own_values.max() - SLACK))
        if self.own_values[top] > self.top_value + SLACK:
            self.top_row, self.top_value = self.own_rows[top].copy(), self.own_values[top]
