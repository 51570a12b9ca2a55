"""The service of latent searches: generate the points' items, query the victim, and test the goals, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from malaprop.core.errors import VictimError, short_of_memory
from malaprop.core.score import Flags, Floats, winners


class Manifold(Protocol):
    """A generative model with an inverter: items and their latent points.

    Items are what the victim reads: an array of images, or a list of sentences.
    """

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Return a digest that changes when the generated items may change."""

    def invert(self, items: Any) -> Floats:
        """Return a point [item, dim] for each item, where its search begins."""

    def generate(self, z: Floats) -> Any:
        """Generate one item for each row; an item must not depend on its neighbours in the batch."""


# A victim: one answer for each item (scores, a label, a translation).
Answering = Callable[[Any], "Sequence[Any] | Floats"]

# What a search looks for: goal(items, answers) gives flags [item].
Goal = Callable[[Any, Any], Flags]


@dataclass(frozen=True, slots=True, eq=False)
class LatentPoints:
    """Points [point, dim] of one search, and the goal that judges their items."""

    points: Floats
    goal: Goal


@dataclass(frozen=True, slots=True)
class OtherLabel:
    """The goal that another label than `label` has the largest score; answers are scores [item, label]."""

    label: int

    def __call__(self, items: object, answers: Sequence[Floats] | Floats) -> Flags:  # noqa: ARG002 - others look at items
        return np.asarray(winners(np.asarray(answers)) != self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentService:
    """Returns for latent points which of them reach their goal; `batch` bounds what is generated at a time.

    If the device has too little memory for a batch, its halves are tried.
    """

    manifold: Manifold
    victim: Answering
    batch: int = 4096

    def begin(self, asks: Sequence[Sequence[LatentPoints]]) -> list[Sequence[LatentPoints]]:
        return list(asks)

    def finish(self, pending: list[Sequence[LatentPoints]]) -> list[list[Flags]]:
        clouds = [cloud for ask in pending for cloud in ask]
        flags = iter(self._judge(clouds))
        return [[next(flags) for _ in ask] for ask in pending]

    def _judge(self, clouds: list[LatentPoints]) -> list[Flags]:
        """Generate and query in batches across searches; each goal sees the rows of its own search."""
        whole = np.concatenate([cloud.points for cloud in clouds])
        cuts = [0, *accumulate(len(cloud.points) for cloud in clouds)]
        out = np.zeros(len(whole), bool)
        waiting = [(low, min(low + self.batch, len(whole))) for low in range(0, len(whole), self.batch)][::-1]
        while waiting:
            low, high = waiting.pop()
            try:
                items = self.manifold.generate(whole[low:high])
                answers = self.victim(items)
            except Exception as error:
                if high - low < 2 or not short_of_memory(error):
                    raise
                middle = (low + high) // 2
                waiting += [(middle, high), (low, middle)]
                continue
            if len(answers) != high - low:
                raise VictimError(f"the victim gave {len(answers)} answers to {high - low} items; expected one an item")
            for cloud, (start, end) in zip(clouds, pairwise(cuts), strict=True):
                a, b = max(start, low), min(end, high)
                if a < b:
                    here = slice(a - low, b - low)
                    out[a:b] = cloud.goal(items[here], answers[here])
        return [out[a:b] for a, b in pairwise(cuts)]
