"""Goals that look at how sure the victim is, not at its label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, Flags, Floats, winners


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """The true label's probability falls below `ceiling`, whether another one is ahead or not (TextAttack's greatest
    score of the true label; its variant of Kuleshov et al. 2018 has 0.7)."""

    ceiling: float = 0.7
    needs = frozenset({Capability.SCORES})

    def __post_init__(self) -> None:
        if not 0 < self.ceiling <= 1:
            raise SettingError(f"Doubtful.ceiling must lie in (0, 1], got {self.ceiling}")

    def wrong(self, answers: Floats, label: int) -> Flags:
        return np.asarray((winners(answers) != label) | self.reached(answers, label))

    def values(self, answers: Floats, label: int) -> Floats:
        return 1 - answers[:, label]

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        return np.asarray(answers[:, label] < self.ceiling - margin)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitSum:
    """The sum of all scores falls below `ceiling`: for models whose scores are logits and whose silence is the harm
    (TextAttack's logit sum). Of probabilities, whose sum is 1, it asks nothing sensible."""

    ceiling: float = 0.0
    needs = frozenset({Capability.SCORES})

    def wrong(self, answers: Floats, label: int) -> Flags:
        return np.asarray((winners(answers) != label) | self.reached(answers, label))

    def values(self, answers: Floats, label: int) -> Floats:  # noqa: ARG002
        return np.asarray(-answers.sum(1))

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:  # noqa: ARG002
        return np.asarray(answers.sum(1) < self.ceiling - margin)
