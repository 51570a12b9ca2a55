"""A goal of its own for attacks that must be sure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, Flags, Floats, winners


@dataclass(frozen=True, slots=True, kw_only=True)
class Confident:
    """Any label but the true one, given with a probability of at least `floor` (Ebrahimi et al. 2018, Figure 1)."""

    floor: float = 0.5
    needs = frozenset({Capability.SCORES})

    def __post_init__(self) -> None:
        if not 0 <= self.floor < 1:
            raise SettingError(f"Confident.floor must lie in [0, 1), got {self.floor}")

    def wrong(self, answers: Floats, label: int) -> Flags:
        return np.asarray(winners(answers) != label)

    def values(self, answers: Floats, label: int) -> Floats:
        return _others(answers, label)

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        best = _others(answers, label)
        return np.asarray((best - answers[:, label] > margin) & (best >= self.floor + margin))


def _others(answers: Floats, label: int) -> Floats:
    """The best score that is not the label's."""
    rest = np.delete(answers, label, axis=1)
    return np.asarray(rest.max(1) if rest.shape[1] else np.full(len(answers), -np.inf, np.float32))
