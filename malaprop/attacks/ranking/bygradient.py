"""Slots by the gradient of the loss at their words."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.attacks.gradient.look import aim, look
from malaprop.attacks.ranking.order import sort_slots
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.gradient import SlotLook

_ROUNDING = 1e-5  # of the largest weight: what a batch may move, and must not decide


@dataclass(frozen=True, slots=True, kw_only=True)
class ByGradient:
    """The word first at which the loss is steepest: the L1 norm of the mean gradient over its tokens; one query."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        ((seen, _),) = yield from look(trial, [SlotLook(text=start.text, aim=aim(trial, odds=True))])
        weights = seen.weights[space.slots]
        return sort_slots(space, weights, _ROUNDING * float(abs(weights).max(initial=0.0)))
