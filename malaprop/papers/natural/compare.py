"""Compare the robustness of victims without labels: which needs the larger change, on the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.summary import Rate
from malaprop.papers.natural.record import Correlation, SearchPair, SweepDot, VictimPair


class SearchedItem(Protocol):
    """A searched item, image or sentence, with its result."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def distance(self) -> float | None: ...
    @property
    def asked(self) -> int: ...


def distances(finds: Sequence[SearchedItem]) -> dict[str, float]:
    """Return the distance of each success, by id."""
    return {find.id: find.distance for find in finds if find.status == "success" and find.distance is not None}


def largest(found: Mapping[str, Sequence[SearchedItem]]) -> dict[str, Rate]:
    """Count how often each victim's adversary is the farthest, over items where every victim has one, without ties."""
    by_victim = {victim: distances(finds) for victim, finds in found.items()}
    shared = set.intersection(*(set(d) for d in by_victim.values())) if by_victim else set()
    wins = dict.fromkeys(by_victim, 0)
    decided = 0
    for item in sorted(shared):
        most = max(d[item] for d in by_victim.values())
        top = [victim for victim, d in by_victim.items() if d[item] == most]
        if len(top) == 1:
            wins[top[0]] += 1
            decided += 1
    return {victim: Rate(count, decided) for victim, count in wins.items()}


def pairs(found: Mapping[str, Sequence[SearchedItem]]) -> tuple[VictimPair, ...]:
    """Compare every two victims by the sign test, in the order given."""
    out = []
    for one, two in combinations(found, 2):
        a, b = distances(found[one]), distances(found[two])
        shared = [item for item in a if item in b]
        more = sum(b[item] > a[item] for item in shared)
        ties = sum(b[item] == a[item] for item in shared)
        out.append(VictimPair(one=one, two=two, larger=Rate(more, len(shared) - ties), ties=ties))
    return tuple(out)


def compare_searches(
    found: Mapping[str, Mapping[str, Sequence[SearchedItem]]], *, rounds: int = 2000, seed: int = 0
) -> tuple[SearchPair, ...]:
    """Compare, for each victim, the first search with every other; `found` is by victim, then by search."""
    out = []
    for victim, by_search in found.items():
        first, *rest = by_search
        for other in rest:
            sides = [{find.id: find for find in by_search[name] if find.status == "success"} for name in (first, other)]
            shared = sorted(sides[0].keys() & sides[1].keys())
            if len(shared) > 1:
                asked, far = (
                    _relate([[float(getattr(side[item], name)) for item in shared] for side in sides], rounds, seed)
                    for name in ("asked", "distance")
                )
                out.append(
                    SearchPair(victim=victim, one=first, two=other, asked=asked, distance=far, count=len(shared))
                )
    return tuple(out)


def _relate(sides: Sequence[Sequence[float]], rounds: int, seed: int) -> Estimate:
    """Return the ratio of the second side's median to the first's, with its interval from resampling both alike."""
    one, two = (np.asarray(side, np.float64) for side in sides)
    some = np.random.default_rng(seed).integers(0, len(one), (rounds, len(one)))
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.median(two[some], axis=1) / np.median(one[some], axis=1)
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        value = np.median(two) / np.median(one)
    return Estimate(*(round(float(x), 4) for x in (value, low, high)))


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ranks of the values from 1; equal values share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse], np.float64)


def spearman(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation; nan where a side does not vary."""
    a, b = ranks(one), ranks(two)
    a, b = a - a.mean(), b - b.mean()
    length = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / length if length else float("nan")


def correlation(
    dots: Sequence[SweepDot], group: str = "all", *, rounds: int = 2000, seed: int = 0
) -> Correlation | None:
    """Correlate accuracy with mean distance over a group of classifiers; None for fewer than four, or equal ones."""
    kept = [d for d in dots if d.distance.mean is not None and group in ("all", d.group)]
    if len(kept) < 4:
        return None
    accuracy = np.asarray([d.accuracy.value for d in kept])
    distance = np.asarray([d.distance.mean for d in kept], np.float64)
    rho = spearman(accuracy, distance)
    if np.isnan(rho):
        return None
    rng = np.random.default_rng(seed)
    drawn = [spearman(accuracy[some], distance[some]) for some in rng.integers(0, len(kept), (rounds, len(kept)))]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Correlation(
        group=group, rho=round(rho, 4), low=round(float(low), 4), high=round(float(high), 4), count=len(kept)
    )
