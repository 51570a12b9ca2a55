"""Goals: what counts as a success of an attack, and how near a text has come to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, Flags, Floats, winners

if TYPE_CHECKING:
    from malaprop.core.capability import Capability


class Goal(Protocol):
    """The goal of an attack: pure functions of scores [text, label] and the example's label."""

    @property
    def needs(self) -> frozenset[Capability]: ...

    def wrong(self, answers: Floats, label: int) -> Flags:
        """Flag the answers in which the victim errs already, so that there is nothing to attack."""

    def values(self, answers: Floats, label: int) -> Floats:
        """Return how near each answer is to the goal; larger is nearer."""

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        """Flag the answers that reach the goal by more than the margin, so that rounding does not decide."""


def _lead(answers: Floats, label: int) -> Floats:
    """Return by how much the best label's score exceeds this one's; 0 where this is the best."""
    columns = np.ascontiguousarray(answers.T)  # a maximum over columns takes a fifth of the time of one over short rows
    return np.asarray(np.maximum.reduce(columns) - columns[label])


def ahead(answers: Floats, label: int) -> Floats:
    """Return by how much this label's score exceeds the best other one."""
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
    """Return the best score of any other label."""
    rest = np.delete(answers, label, axis=1)
    return np.asarray(rest.max(1) if rest.shape[1] else np.full(len(answers), -np.inf, np.float32))


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


_KNOWN = {"record": False}  # from the data, and from the first answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The score has moved by more than `bound` from that of the original, up or down, or with `falls` down alone.

    Where the labels of the data are numbers, an example whose score is off by more than the bound already is skipped,
    as a wrong label is; where they are not, none is.
    """

    bound: float = 0.5
    falls: bool | None = None  # true: only downwards counts
    truths: tuple[float, ...] = field(default=(), repr=False, metadata=_KNOWN)  # by the number of a label
    origin: float = field(default=0.0, repr=False, metadata=_KNOWN)
    needs = frozenset({Capability.NUMBER})

    def __post_init__(self) -> None:
        if not 0 < self.bound < float("inf"):
            raise SettingError(f"Moved.bound must be a number above 0, got {self.bound}")

    def for_labels(self, names: Sequence[str]) -> Moved:
        """Return the goal for data whose labels have these names, where they are numbers."""
        try:
            return replace(self, truths=tuple(map(float, names)))
        except ValueError:
            return self

    def from_original(self, answer: Floats) -> Moved:
        """Return the goal for a text whose original has this answer."""
        return replace(self, origin=float(answer[0]))

    def wrong(self, answers: Floats, label: int) -> Flags:
        truth = self.truths[label] if 0 <= label < len(self.truths) else None
        if truth is None:
            return np.zeros(len(answers), np.bool_)
        return np.asarray(np.abs(answers[:, 0] - truth) > self.bound)

    def values(self, answers: Floats, label: int) -> Floats:  # noqa: ARG002
        fall = np.float32(self.origin) - answers[:, 0]
        return np.asarray(fall if self.falls else np.abs(fall))

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        return np.asarray(self.values(answers, label) > self.bound + margin)


@dataclass(frozen=True, slots=True)
class Accepted:
    """Another goal, reached only by texts that the victim does not reject.

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
        """Return the goal's value for the labels' probabilities, minus the probability of rejection."""
        return np.asarray(self.goal.values(answers[:, :-1], label) - answers[:, -1])

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        passed = answers[:, :-1].max(1) - answers[:, -1] > -SLACK + margin
        return np.asarray(passed & self.goal.reached(_scores_of_labels(answers), label, margin))


def _are_rejected(answers: Floats) -> Flags:
    return np.asarray(winners(answers) == answers.shape[1] - 1)


def _scores_of_labels(answers: Floats) -> Floats:
    """Return the probabilities of the labels without rejection, rescaled to sum to one."""
    return np.asarray(answers[:, :-1] / np.maximum(1 - answers[:, -1:], 1e-9), np.float32)
