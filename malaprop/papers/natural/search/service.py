"""The service of latent searches: points become items, the victim answers, and goals judge, pooled over a round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from malaprop.core.errors import VictimError, short_of_memory
from malaprop.core.score import Flags, Floats, winners


class Manifold(Protocol):
    """Data as points of a dense space. Items are what the victim reads: an array of images, or a list of sentences."""

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Changes when what it generates may change."""

    def invert(self, items: Any) -> Floats:
        """A point [item, dim] for each item: where a search begins."""

    def generate(self, z: Floats) -> Any:
        """One item for each row; an item must not depend on its neighbours in the batch."""


# A victim seen from here: one answer an item, whatever an answer is (scores, a label, a translation).
Answering = Callable[[Any], "Sequence[Any] | Floats"]

# Whether items and the victim's answers to them are what is looked for: goal(items, answers) gives flags [item].
Goal = Callable[[Any, Any], Flags]


@dataclass(frozen=True, slots=True, eq=False)
class LatentPoints:
    """Points [point, dim] of one search, and the goal that judges what they become."""

    points: Floats
    goal: Goal


@dataclass(frozen=True, slots=True)
class OtherLabel:
    """Reached where scores [item, label] make another label win than `label`."""

    label: int

    def __call__(self, items: object, answers: Sequence[Floats] | Floats) -> Flags:  # noqa: ARG002 - others look at items
        return np.asarray(winners(np.asarray(answers)) != self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentService:
    """Answers asks that hold Clouds, each with its flags [point]; `batch` bounds what is generated at a time.

    Where a device that others share has no room for a batch, its halves are tried.
    """

    manifold: Manifold
    victim: Answering
    batch: int = 4096

    def begin(self, asks: Sequence[Sequence[LatentPoints]]) -> list[Sequence[LatentPoints]]:
        return list(asks)

    def finish(self, pending: list[Sequence[LatentPoints]]) -> list[list[Flags]]:
        clouds = [cloud for ask in pending for cloud in ask]
        flags = iter(self._judged(clouds))
        return [[next(flags) for _ in ask] for ask in pending]

    def _judged(self, clouds: list[LatentPoints]) -> list[Flags]:
        """Batches run across clouds; within a batch each goal sees the rows of its own cloud."""
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
