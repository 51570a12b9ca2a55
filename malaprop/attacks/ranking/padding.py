"""The weak spot of a text: the word whose absence moves the answer most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.ranking.order import sort_slots
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.insight import Blank

UNREAD = -1e9  # less than any gain: a slot that the victim does not read


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroVector:
    """By what a zero vector in the word's place gains (Yang et al. 2018); one query a word."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        some = trial.spend(len(space.slots))
        (answers,) = yield Ask("padding", [Blank(text=start.text, slots=space.slots[:some])])
        values = np.full(len(space.slots), start.value, np.float32)
        read = np.isfinite(answers).all(1)
        values[:some][read] = trial.attack.goal.values(answers[read], trial.example.label)
        values[:some][~read] = UNREAD
        return sort_slots(space, values)
