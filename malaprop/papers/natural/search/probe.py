"""Query points around the start of a latent search: count queries, keep the closest successes, and confirm them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags, Floats
from malaprop.papers.natural.search.service import Goal, LatentPoints

CAP = 10_000_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LatentSuccess:
    """The result of a search: the closest confirmed point, or none and the reason."""

    point: Floats | None
    distance: float | None
    asked: int  # the confirming queries included
    reason: str = ""
    failed: bool = False  # the victim or the generator failed, and nothing can be said of this start


def search_confirmed(
    search: LatentSearch, start: Floats, goal: Goal, rng: np.random.Generator, *, cap: int = CAP
) -> Steps[LatentSuccess]:
    """Search around `start` [dim] and confirm the closest success; ends after `cap` queries and those that confirm."""
    if cap < 1:
        raise SettingError(f"the cap on queries must be at least 1, got {cap}")
    probe, ended = LatentProbe(origin=start.astype(np.float32), goal=goal, cap=cap), ""
    try:
        yield from search.steps(probe, rng)
    except CapReached:
        ended = f"the cap of {cap:,} queries was reached"
    except ServiceFailed as error:
        return LatentSuccess(point=None, distance=None, asked=probe.asked, reason=str(error), failed=True)
    return (yield from _confirm(probe, ended or "the search ended without a success"))


def _confirm(probe: LatentProbe, ended: str) -> Steps[LatentSuccess]:
    """Return the closest success that a fresh query alone confirms; rounding in a batch can make a false one."""
    asked = probe.asked
    for distance, point in probe.found:
        asked += 1
        try:
            flags = (yield Ask("verify", [LatentPoints(point[None], probe.goal)]))[0]
        except ServiceFailed as error:
            return LatentSuccess(point=None, distance=None, asked=asked, reason=str(error), failed=True)
        if flags[0]:
            return LatentSuccess(point=point, distance=distance, asked=asked)
    reason = f"{len(probe.found)} successes were not confirmed by a fresh query" if probe.found else ended
    return LatentSuccess(point=None, distance=None, asked=asked, reason=reason)


KEPT = 8  # successes that are kept, in case a fresh query does not confirm the closest


class CapReached(Exception):  # noqa: N818 - the end of a search, not a fault
    """Raised when a search has used up its cap on queries."""


@dataclass(slots=True, kw_only=True)
class LatentProbe:
    """Queries points around `origin` for one search, and keeps the closest successes."""

    origin: Floats  # [dim]
    goal: Goal
    cap: int
    asked: int = 0
    found: list[tuple[float, Floats]] = field(default_factory=list)  # the closest successes, by distance

    def look(self, points: Floats) -> Steps[Flags]:
        """Return which points [point, dim] reach the goal; raise CapReached after the queries that use up the cap."""
        points = points[: self.cap - self.asked].astype(np.float32, copy=False)
        self.asked += len(points)
        flags: Flags = (yield Ask("latent", [LatentPoints(points, self.goal)]))[0] if len(points) else np.zeros(0, bool)
        self._keep(points[flags])
        if self.asked >= self.cap:
            raise CapReached
        return flags

    def shell(self, rng: np.random.Generator, many: int, low: float, high: float) -> Steps[bool]:
        """Query `many` random points at distances in (low, high]; return whether one of them reaches the goal."""
        flags = yield from self.look(self.origin + noise(rng, many, len(self.origin), low, high))
        return bool(flags.any())

    @property
    def radius(self) -> float:
        """Return the distance of the closest success; infinite if there is none."""
        return self.found[0][0] if self.found else float("inf")

    def _keep(self, points: Floats) -> None:
        far = np.linalg.norm((points - self.origin).astype(np.float64), axis=1)
        near = np.argsort(far, kind="stable")[:KEPT]
        fresh = [(float(far[i]), points[i].copy()) for i in near]
        self.found = sorted([*self.found, *fresh], key=lambda pair: pair[0])[:KEPT]


def noise(rng: np.random.Generator, many: int, dim: int, low: float, high: float) -> Floats:
    """Draw vectors [many, dim] of random direction whose norms are uniform in (low, high]."""
    out = rng.standard_normal((many, dim), np.float32)
    norms = high - (high - low) * rng.random((many, 1), np.float32)  # random() is in [0, 1)
    out *= norms / np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
    return out


class LatentSearch(Protocol):
    """Searches for a point near the probe's origin that reaches its goal; the probe keeps what is found."""

    def steps(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[None]: ...
