"""A goal for what leaves the label alone: words go, and the victim must not notice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.goals.goal import ahead
from malaprop.core.capability import Capability
from malaprop.core.score import SLACK, Flags, Floats, winners


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The true label stays while the text changes (Feng et al. 2018). What more a search wants, such as how many words
    are gone, it says itself; the surer the victim, the better."""

    needs = frozenset({Capability.SCORES})

    def wrong(self, answers: Floats, label: int) -> Flags:
        return np.asarray(winners(answers) != label)

    def values(self, answers: Floats, label: int) -> Floats:
        return answers[:, label]

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        return np.asarray(ahead(answers, label) > margin)
