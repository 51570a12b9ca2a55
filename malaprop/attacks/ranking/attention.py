"""Slots by the attention that a victim pays to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.ranking.order import sort_slots
from malaprop.attacks.ranking.padding import UNREAD
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.insight import Direction, Focus

_SLACK = 1e-5  # of a share of attention: what the rounding of a batch moves, and must not decide


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAttention:
    """The most attended word first, or with `least` the least; by the mean over the heads of one layer; one query.

    `received` is attention from all tokens, `cls` that of the first token alone (see core.insight.Focus).
    """

    least: bool = False
    layer: int = 0
    direction: Direction = "received"

    def __post_init__(self) -> None:
        if self.direction not in ("received", "cls"):
            raise SettingError(f"direction is received or cls, got {self.direction!r}")

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        trial.spend(1)
        (found,) = yield Ask("attention", [Focus(text=start.text, layer=self.layer, direction=self.direction)])
        here = found[space.slots]
        weights = np.nan_to_num(-here if self.least else here, nan=UNREAD)
        return sort_slots(space, weights, _SLACK)
