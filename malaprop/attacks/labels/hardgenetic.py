"""Maheshwary's genetic search among texts that all have another label."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from malaprop.attacks.labels.border import Border
from malaprop.attacks.labels.start import RandomStart
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats, ranked
from malaprop.core.text import Ints
from malaprop.core.variants import Variants

_ROUNDING = 1e-5  # of a cosine


@dataclass(frozen=True, slots=True, kw_only=True)
class HardLabelGenetic:
    """Maheshwary et al. 2021: a population of `size` texts that all keep the label turned; the fitter the more similar.

    A child takes each word from either of two parents; more similar parents are likelier. Then one of its changed
    words, at random, is exchanged: the original word and `draws` of its replacements are queried, and of those that
    keep the label turned the one nearest to the original word is taken. The search ends after `rounds` generations, or
    when `patience` of them bring nothing nearer.
    """

    start: RandomStart = field(default_factory=RandomStart)
    size: int = 30
    rounds: int = 20
    draws: int = 5
    heat: float = 0.1  # of the softmax of similarities that draws parents
    patience: int = 3

    def __post_init__(self) -> None:
        if min(self.size, self.rounds, self.draws, self.patience) < 1 or self.heat <= 0:
            raise SettingError("HardLabelGenetic needs size, rounds, draws and patience of at least 1, heat above 0")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        border = yield from Border.find(trial, space, self.start)
        if border is None:
            return start
        rows, fits = border.text.words[None], np.asarray([border.near], np.float32)
        still = 0
        for _ in range(self.rounds):
            near = border.near
            children = self._breed(trial, rows, fits)
            fresh, found = yield from self._mutate(border, children)
            rows, fits = np.concatenate([rows, fresh]), np.concatenate([fits, found])
            kept = ranked(fits, slack=_ROUNDING)[: self.size]
            rows, fits = rows[kept], fits[kept]
            still = 0 if border.near > near else still + 1
            if still == self.patience:
                break
        yield from border.restore_words()
        return border.held

    def _breed(self, trial: Trial, rows: Ints, fits: Floats) -> Ints:
        """Return children [child, slot], each word from either of two randomly drawn parents."""
        chance = np.exp((np.round(fits.astype(np.float64), 5) - fits.max()) / self.heat)
        one, two = (trial.rng.choice(len(rows), self.size, p=chance / chance.sum()) for _ in range(2))
        return np.where(trial.rng.random((self.size, rows.shape[1])) < 0.5, rows[one], rows[two])

    def _mutate(self, border: Border, children: Ints) -> Steps[tuple[Ints, Floats]]:
        """Exchange one word of each child; return those that keep the label turned [text, slot], and similarities."""
        slots, origin, rng = border.space.slots, border.trial.origin.words, border.trial.rng
        rows, whose, far = [], [], []
        for child, row in enumerate(children):
            changed = np.flatnonzero(row[slots] != origin[slots])
            if not len(changed):
                continue
            place = int(rng.choice(changed))
            words = border.options(place)
            options = np.concatenate([[0], 1 + rng.permutation(len(words) - 1)[: self.draws]])
            grid = np.repeat(row[None], len(options), 0)
            grid[:, slots[place]] = words[options]
            rows.append(grid)
            whose.append(np.full(len(options), child))
            vectors = border.vectors[place]
            far.append(np.linalg.norm(vectors[options] - vectors[0], axis=1))
        if not rows:
            return children[:0], np.empty(0, np.float32)
        made = np.concatenate(rows)
        which, slot = np.nonzero(made != origin)
        variants = Variants(border.trial.origin, slot, made[which, slot], which, len(made))
        _, scored, places = yield from border.ask(variants)
        hits = np.flatnonzero(scored.reached)
        asked = places[hits]
        order = np.lexsort((np.round(np.concatenate(far)[asked], 5), np.concatenate(whose)[asked]))
        first = order[np.unique(np.concatenate(whose)[asked][order], return_index=True)[1]]
        return made[asked[first]], (yield from border.weigh(scored, hits[first]))
