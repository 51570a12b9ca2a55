"""What counts as success, and how near a text has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, Flags, Floats, winners


class Goal(Protocol):
    """Pure functions of scores [text, label] and the example's label."""

    @property
    def needs(self) -> frozenset[Capability]: ...

    def wrong(self, answers: Floats, label: int) -> Flags:
        """Where the victim errs already, so that there is nothing to attack."""

    def values(self, answers: Floats, label: int) -> Floats:
        """The larger, the nearer to the goal."""

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        """Where the goal is met by more than the margin; rounding alone must not decide it."""


def _lead(answers: Floats, label: int) -> Floats:
    """By how much the best label is ahead of this one; 0 where this is the best."""
    columns = np.ascontiguousarray(answers.T)  # a maximum over columns takes a fifth of the time of one over short rows
    return np.asarray(np.maximum.reduce(columns) - columns[label])


def ahead(answers: Floats, label: int) -> Floats:
    """By how much this label is ahead of the best other one."""
    if answers.shape[1] == 2:
        return np.asarray(answers[:, label] - answers[:, 1 - label])
    rest = answers.copy()
    rest[:, label] = -np.inf
    return np.asarray(answers[:, label] - rest.max(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Untargeted:
    """Any label but the true one."""

    needs = frozenset({Capability.SCORES})

    def wrong(self, answers: Floats, label: int) -> Flags:
        return np.asarray(winners(answers) != label)

    def values(self, answers: Floats, label: int) -> Floats:
        return 1 - answers[:, label]

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        return _lead(answers, label) > margin


@dataclass(frozen=True, slots=True, kw_only=True)
class Targeted:
    """One given label, ahead of all others by more than `margin` in score. Examples that have it already, or that the
    victim gives it, are skipped."""

    target: int
    margin: float = 0.0
    needs = frozenset({Capability.SCORES})

    def __post_init__(self) -> None:
        if self.target < 0:
            raise SettingError(f"Targeted.target must be at least 0, got {self.target}")
        if not 0 <= self.margin < float("inf"):
            raise SettingError(f"Targeted.margin must be a number of at least 0, got {self.margin}")

    def wrong(self, answers: Floats, label: int) -> Flags:
        if self.target >= answers.shape[1]:
            raise SettingError(f"target {self.target} is not among the victim's {answers.shape[1]} labels")
        return np.asarray((winners(answers) != label) | (label == self.target))

    def values(self, answers: Floats, label: int) -> Floats:  # noqa: ARG002
        return answers[:, self.target]

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:  # noqa: ARG002
        return np.asarray(ahead(answers, self.target) > self.margin + margin)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOnly:
    """Any other label, with the victim's confidence hidden: a text is worth 1 where the label fell, else 0."""

    needs = frozenset({Capability.LABELS})

    def wrong(self, answers: Floats, label: int) -> Flags:
        return np.asarray(winners(answers) != label)

    def values(self, answers: Floats, label: int) -> Floats:
        return self.reached(answers, label).astype(np.float32)

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        return _lead(answers, label) > margin
