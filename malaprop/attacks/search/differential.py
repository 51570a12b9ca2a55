"""Differential evolution over the edits of a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, top
from malaprop.core.text import Ints
from malaprop.core.variants import Variants

_Real = NDArray[np.float64]
_WORST = -1e30  # of a text that breaks a constraint; finite, so that differences are numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialEvolution:
    """Storn and Price 1997 as Boucher et al. 2022 use it: a member is a point, and its coordinates name edits.

    All edits of a text lie on one line, word by word; a coordinate, rounded, is the place of an edit, and below 0 it
    names none. Members begin spread evenly (a Latin hypercube); each of `rounds` generations moves every member towards
    the best by the scaled difference of two others and keeps the new point if it is at least as good, until all values
    are about equal. If the edits are no more than the members, each is queried once. The search begins with one
    coordinate and adds one, up to `most`, while no text reaches the goal; the best point so far is kept. Of two edits
    of one word the last counts. A generation is one batch of queries.
    """

    most: int = 5
    size: int = 32
    rounds: int = 10
    scale: tuple[float, float] = (0.5, 1.0)  # of the difference, drawn for each generation; scipy's defaults
    cross: float = 0.7  # how likely a coordinate is taken from the moved point
    settled: float = 0.01  # below this spread of the values, as a share of their mean, a search ends; scipy's default

    def __post_init__(self) -> None:
        if self.most < 1 or self.rounds < 0 or self.size < 4:
            raise SettingError(
                f"DifferentialEvolution needs most >= 1, size >= 4 and rounds >= 0, got {self.most}, {self.size} and "
                f"{self.rounds}"
            )
        if self.settled < 0 or not 0 < self.cross <= 1:
            raise SettingError("DifferentialEvolution needs cross in (0, 1] and settled of at least 0")
        if len(self.scale) != 2 or not 0 <= self.scale[0] <= self.scale[1]:
            raise SettingError(f"DifferentialEvolution needs a scale of two rising numbers, got {self.scale}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        line = _Line(trial, space.able())
        best: _Real | None = None
        for many in range(1, min(self.most, len(line.space.slots)) + 1):
            few = many == 1 and line.size <= self.size
            points = (
                np.arange(line.size, dtype=np.float64)[:, None] if few else self._spread(trial.rng, many, line.size)
            )
            if best is not None:
                points[0, :-1], points[0, -1] = best, -1.0
            values, done = yield from line.score(points, np.full(len(points), _WORST))
            for _ in range(0 if few else self.rounds):
                if done or self._has_settled(values):
                    break
                moved = self._move(trial.rng, points, values, line.size)
                fresh, done = yield from line.score(moved, values)
                better = fresh >= values - SLACK
                points[better], values[better] = moved[better], fresh[better]
            if done:
                break
            best = points[_leader(values)]
        return trial.held or start

    def _has_settled(self, values: _Real) -> bool:
        """Whether all values are about equal; False where all are 0, as with a victim that shows labels alone."""
        mean = abs(float(values.mean()))
        return mean > SLACK and float(values.std()) < self.settled * mean

    def _spread(self, rng: np.random.Generator, many: int, size: int) -> _Real:
        """Draw the first points [member, coordinate] as a Latin hypercube: one member in each equal stretch."""
        parts = (np.arange(self.size) + rng.random((many, self.size))) / self.size
        return np.asarray(rng.permuted(parts, axis=1).T * size - 1.0)

    def _move(self, rng: np.random.Generator, points: _Real, values: _Real, size: int) -> _Real:
        """Move every member towards the best (best/1/bin); draw a coordinate that leaves the line again at random."""
        count, many = points.shape
        order = np.argsort(rng.random((count, count - 1)), 1)[:, :2]
        one, two = (order + (order >= np.arange(count)[:, None])).T  # two others, distinct, and not the member itself
        aim = points[_leader(values)] + rng.uniform(*self.scale) * (points[one] - points[two])
        taken = rng.random((count, many)) < self.cross
        taken[np.arange(count), rng.integers(many, size=count)] = True
        outside = (aim < -1) | (aim > size - 1)
        aim = np.where(outside, rng.random((count, many)) * size - 1.0, aim)
        return np.where(taken, aim, points)


def _leader(values: _Real) -> int:
    return top(values.astype(np.float32), np.zeros(len(values), np.bool_))


class _Line:
    """All edits of a text in one row, which the coordinates of points index."""

    def __init__(self, trial: Trial, space: Space) -> None:
        self.trial, self.space = trial, space
        self.slots: Ints = np.repeat(space.slots, space.sizes)
        self.words: Ints = np.concatenate(space.words)
        self.size = len(self.words)

    def score(self, points: _Real, floors: _Real) -> Steps[tuple[_Real, bool]]:
        """Return the value of each point, _WORST where its text breaks a constraint, and whether one reaches the goal.

        Constraints that need a service are checked for texts of at least their floor or that reach the goal.
        """
        trial, values = self.trial, np.full(len(points), _WORST)
        texts = self._texts(points)
        allowed = np.flatnonzero(trial.allows(texts))
        (scored,) = yield from trial.score([texts.keep(trial.allows(texts))])
        allowed = allowed[: len(scored.values)]  # the budget may cut the last ones
        hopeful = np.flatnonzero((scored.values >= floors[allowed] - SLACK) | scored.reached)
        fine = yield from trial.admit([scored.variants.pick(i) for i in hopeful.tolist()])
        chosen = hopeful[fine]
        yield from trial.settle([scored], [chosen])
        values[allowed[chosen]] = scored.values[chosen]
        trial.hold_best(scored, chosen)
        return values, bool(scored.reached[chosen].any())

    def _texts(self, points: _Real) -> Variants:
        """Return the texts of these points, as edits of the original; of two edits of one slot the last counts."""
        places = np.rint(points).astype(np.int64)
        rows, columns = np.nonzero(places >= 0)
        picked = np.minimum(places[rows, columns], self.size - 1)
        slots, words = self.slots[picked], self.words[picked]
        order = np.lexsort((columns, slots, rows))
        rows, slots, words = rows[order], slots[order], words[order]
        last = np.ones(len(rows), np.bool_)
        last[:-1] = (rows[1:] != rows[:-1]) | (slots[1:] != slots[:-1])
        return Variants(self.trial.origin, slots[last], words[last], rows[last], len(points))
