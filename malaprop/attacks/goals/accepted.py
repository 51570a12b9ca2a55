"""A goal against a victim that may reject a text: what is rejected was found out, so it is no success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from malaprop.core.score import SLACK, Flags, Floats, winners

if TYPE_CHECKING:
    from malaprop.attacks.goals.goal import Goal
    from malaprop.core.capability import Capability


@dataclass(frozen=True, slots=True)
class Accepted:
    """Another goal, reached by texts alone that the victim does not reject.

    The last score of an answer is that of rejecting the text (`core.victim.REJECTED`). An original that is rejected is
    an error of the victim without an attack. What a text is worth falls with that score, so that a search looks for
    texts that break the model and pass its detector: it is an attack that knows the detector.
    """

    goal: Goal
    rejected: int | None = None  # the number of that label, for searches that move away from it

    @property
    def needs(self) -> frozenset[Capability]:
        return self.goal.needs

    def wrong(self, answers: Floats, label: int) -> Flags:
        return np.asarray(_are_rejected(answers) | self.goal.wrong(_scores_of_labels(answers), label))

    def values(self, answers: Floats, label: int) -> Floats:
        """The goal's value of the labels' shares, less that of rejection: untargeted, what wrong labels have of it."""
        return np.asarray(self.goal.values(answers[:, :-1], label) - answers[:, -1])

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        passed = answers[:, :-1].max(1) - answers[:, -1] > -SLACK + margin
        return np.asarray(passed & self.goal.reached(_scores_of_labels(answers), label, margin))


def _are_rejected(answers: Floats) -> Flags:
    return np.asarray(winners(answers) == answers.shape[1] - 1)


def _scores_of_labels(answers: Floats) -> Floats:
    """What the model itself says: the labels' scores without the share that rejection has of them."""
    return np.asarray(answers[:, :-1] / np.maximum(1 - answers[:, -1:], 1e-9), np.float32)
