"""A hunt: one latent search from its start to a success that a fresh query confirmed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats
from malaprop.papers.natural.search.manifold import Goal
from malaprop.papers.natural.search.probe import CapReached, LatentProbe, LatentSearch
from malaprop.papers.natural.search.service import LatentPoints

CAP = 10_000_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LatentSuccess:
    """What a hunt brought: the closest confirmed point, or none and the reason."""

    point: Floats | None
    distance: float | None
    asked: int  # the confirming queries included
    reason: str = ""
    failed: bool = False  # the victim or the generator failed, and nothing can be said of this start


def search_confirmed(
    search: LatentSearch, start: Floats, goal: Goal, rng: np.random.Generator, *, cap: int = CAP
) -> Steps[LatentSuccess]:
    """Searches around `start` [dim]; always ends, at the latest after `cap` queries and those that confirm."""
    if cap < 1:
        raise SettingError(f"the cap on queries must be at least 1, got {cap}")
    probe, ended = LatentProbe(origin=start.astype(np.float32), goal=goal, cap=cap), ""
    try:
        yield from search.steps(probe, rng)
    except CapReached:
        ended = f"the cap of {cap:,} queries was reached"
    except ServiceFailed as error:
        return LatentSuccess(point=None, distance=None, asked=probe.asked, reason=str(error), failed=True)
    return (yield from _confirmed(probe, ended or "the search ended without a success"))


def _confirmed(probe: LatentProbe, ended: str) -> Steps[LatentSuccess]:
    """The closest success that holds when it is asked alone: the rounding of a batch may have made one."""
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
