"""Scores of variants, and rules to choose among them that do not depend on rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.core.variants import Variants

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

# Rounding moves a float32 score by about 1e-7 with its batch, so differences below this decide nothing.
SLACK = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Variants with the victim's answers, their values by the goal, and whether each reaches the goal."""

    variants: Variants
    answers: Floats  # [variant, label]
    values: Floats
    reached: Flags

    def become(self, other: Scored) -> None:
        """Overwrite the answers with newer ones of the same variants, in place."""
        self.answers[:], self.values[:], self.reached[:] = other.answers, other.values, other.reached


@dataclass(frozen=True, slots=True)
class Prediction:
    """A victim's answer for one text."""

    label: int
    scores: tuple[float, ...]

    @classmethod
    def of(cls, scores: Sequence[float] | Floats) -> Prediction:
        return cls(winner(np.asarray(scores, np.float32)), tuple(float(s) for s in scores))


def best(values: Floats, slack: float = SLACK) -> int:
    """Return the first index within `slack` of the largest value: rounding in a batch must not decide ties."""
    return int(np.argmax(values >= values.max() - slack))


def winners(answers: Floats, slack: float = SLACK) -> NDArray[np.int64]:
    """Return the label of each row of scores [text, label]: the first within `slack` of its largest score."""
    return np.asarray((answers >= answers.max(1, keepdims=True) - slack).argmax(1))


def winner(answer: Floats) -> int:
    """Return the label of one row of scores."""
    return best(answer)


def ranked(values: Floats, reached: Flags | None = None, slack: float = SLACK) -> NDArray[np.int64]:
    """Return indices from best to worst: those that reached the goal first, then by value; ties keep their order.

    Values tie where a chain of neighbours in the order joins them, each within `slack` of the next, so that rounding in
    a batch cannot separate two values that differ in the last digit.
    """
    order = np.argsort(-values, kind="stable")
    falling = values[order]
    falls = falling[:-1] - falling[1:] > slack
    if reached is None and falls.all():
        return order
    group = np.empty(len(order), np.int64)
    group[order] = np.concatenate([[0], np.cumsum(falls)])[: len(order)]
    return np.argsort(group, kind="stable") if reached is None else np.lexsort((group, ~reached))


def top(values: Floats, reached: Flags) -> int:
    """Return the first index of `ranked`, without sorting where nothing ties with it; needs at least one value."""
    some = np.count_nonzero(reached)
    first = int(np.where(reached, values, -np.inf).argmax() if some else values.argmax())
    apart = np.abs(values - values[first])
    near = np.count_nonzero(apart <= 4 * SLACK)  # wider than a chain's link: then no other is chained to it
    if near == 1:
        return first
    tied = apart <= SLACK
    if np.count_nonzero(tied) == near:  # one chain, and nothing between its end and what may be chained to it
        return int((tied & reached if some else tied).argmax())
    return int(ranked(values, reached)[0])


def firsts(values: Floats, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `best` of each group of values; a group begins at one of `starts`, ends at the next and is not empty."""
    sizes = np.empty_like(starts)
    sizes[:-1], sizes[-1] = starts[1:] - starts[:-1], len(values) - starts[-1]
    near = np.flatnonzero(values >= np.repeat(np.maximum.reduceat(values, starts) - np.float32(SLACK), sizes))
    return np.asarray(near[np.searchsorted(near, starts)])


def ranked_within(groups: NDArray[np.int64], values: Floats, reached: Flags) -> NDArray[np.int64]:
    """Return `ranked` of many groups at once: indices group by group; `groups` [value] is sorted."""
    order = np.lexsort((-values, groups))
    falls = (-np.diff(values[order]) > SLACK) | (np.diff(groups) > 0)
    chain = np.empty(len(order), np.int64)
    chain[order] = np.concatenate([[0], np.cumsum(falls)])[: len(order)]
    return np.lexsort((chain, ~reached, groups))
