"""A probe: how a latent search looks around a point. It counts, holds the cap, and keeps the closest successes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from malaprop.core.ask import Ask, Steps
from malaprop.core.score import Flags, Floats
from malaprop.papers.natural.search.manifold import Goal
from malaprop.papers.natural.search.service import LatentPoints

KEPT = 8  # successes at hand, should a fresh query not confirm the closest


class CapReached(Exception):  # noqa: N818 - the end of a search, not a fault
    """The cap on queries is reached."""


@dataclass(slots=True, kw_only=True)
class LatentProbe:
    """Looks around `origin` on behalf of one search."""

    origin: Floats  # [dim]
    goal: Goal
    cap: int
    asked: int = 0
    found: list[tuple[float, Floats]] = field(default_factory=list)  # the closest successes, by distance

    def look(self, points: Floats) -> Steps[Flags]:
        """Which points [point, dim] reach the goal. Raises CapReached after the ask that uses up the cap."""
        points = points[: self.cap - self.asked].astype(np.float32, copy=False)
        self.asked += len(points)
        flags: Flags = (yield Ask("latent", [LatentPoints(points, self.goal)]))[0] if len(points) else np.zeros(0, bool)
        self._keep(points[flags])
        if self.asked >= self.cap:
            raise CapReached
        return flags

    def shell(self, rng: np.random.Generator, many: int, low: float, high: float) -> Steps[bool]:
        """Looks at `many` random points at distances in (low, high]; whether one of them reached the goal."""
        flags = yield from self.look(self.origin + noise(rng, many, len(self.origin), low, high))
        return bool(flags.any())

    @property
    def radius(self) -> float:
        """How far the closest success lies; infinite where there is none."""
        return self.found[0][0] if self.found else float("inf")

    def _keep(self, points: Floats) -> None:
        far = np.linalg.norm((points - self.origin).astype(np.float64), axis=1)
        near = np.argsort(far, kind="stable")[:KEPT]
        fresh = [(float(far[i]), points[i].copy()) for i in near]
        self.found = sorted([*self.found, *fresh], key=lambda pair: pair[0])[:KEPT]


def noise(rng: np.random.Generator, many: int, dim: int, low: float, high: float) -> Floats:
    """Vectors [many, dim] of random direction whose norms are uniform in (low, high]."""
    out = rng.standard_normal((many, dim), np.float32)
    norms = high - (high - low) * rng.random((many, 1), np.float32)  # random() is in [0, 1)
    out *= norms / np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
    return out


class LatentSearch(Protocol):
    """Looks for a point near the probe's origin that reaches its goal; what is found stays in the probe."""

    def steps(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[None]: ...
