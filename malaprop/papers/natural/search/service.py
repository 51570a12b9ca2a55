"""Searches around latent points: batches of queries about what the points generate, probes, and runs over a dataset."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import SettingError, VictimError, short_of_memory
from malaprop.core.score import Flags, Floats, winners
from malaprop.core.seeds import generator
from malaprop.engine.drive import drive
from malaprop.engine.service import Service


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


@dataclass(frozen=True, eq=False, kw_only=True)
class LatentData:
    """The data that all victims of a study share: items, where their searches start, and what those points generate."""

    items: Any  # an ImageSet, or a Dataset of texts
    ids: tuple[str, ...]
    starts: Floats  # [item, dim]
    returned: Any  # an array of images, or sentences
    notes: tuple[str, ...] = ()  # what a reader of the figures should know of the items

    def __len__(self) -> int:
        return len(self.items)


class LatentTarget(Protocol):
    """A victim, how items are shown to it, and how results are recorded. Items are named by their place in the data."""

    @property
    def latent_data(self) -> LatentData: ...

    def services(self) -> dict[str, Service]:
        """Return the services: `latent` and `verify` judge latent points, `items` gives the victim's answers."""

    def describe(self, at: int) -> Any:
        """Return the result of an item before any query."""

    def show(self, at: int) -> list[Any]:
        """Return the first two queries: the item as it is, and the item that its start generates."""

    def begin(self, at: int, line: Any, answers: Sequence[Any]) -> tuple[Any, Goal]:
        """Return the result with both answers, skipped if there is nothing to search for, and the search's goal."""

    def write(self, at: int, point: Floats) -> tuple[Any, Any]:
        """Generate the item of a point, as a goal sees it and as the victim reads it."""

    def tell(self, at: int, line: Any, made: tuple[Any, Any], answer: Any, point: Floats) -> Any:
        """Return the result with its adversary."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LatentRun:
    """One victim under one search; the result of an item depends on the seed and its id alone."""

    target: LatentTarget
    search: LatentSearch
    seed: int = 0
    width: int = 64
    cap: int = CAP

    def run(self, wanted: Collection[str] | None = None) -> Iterator[Any]:
        """Yield the results in the order they end, of the wanted items or of all."""
        ids = enumerate(self.target.latent_data.ids)
        jobs = ((at, self._steps(at)) for at, name in ids if wanted is None or name in wanted)
        for _, line in drive(jobs, self.target.services(), width=self.width):
            yield line

    def _steps(self, at: int) -> Steps[Any]:
        """Search around one item."""
        target, line = self.target, self.target.describe(at)
        try:
            answers = yield Ask("items", target.show(at))
            line, goal = target.begin(at, line, answers)
            if line.status == "skipped":
                return line
            rng = generator(self.seed, "latent", line.id)
            result = yield from search_confirmed(self.search, target.latent_data.starts[at], goal, rng, cap=self.cap)
            line = replace(line, asked=result.asked, reason=result.reason or None)
            return (yield from self._confirm(at, line, goal, result))
        except ServiceFailed as error:
            return replace(line, status="error", reason=str(error))

    def _confirm(self, at: int, line: Any, goal: Goal, result: LatentSuccess) -> Steps[Any]:
        """Generate the adversary and query it afresh; it must still reach the goal."""
        if result.point is None or result.distance is None:
            return replace(line, status="error" if result.failed else "failed")
        made = self.target.write(at, result.point)
        answer = (yield Ask("items", [made[1]]))[0]
        if not goal([made[0]], [answer])[0]:
            return replace(line, status="failed", reason="a success was not confirmed by a fresh query")
        line = replace(line, status="success", distance=round(result.distance, 6))
        return self.target.tell(at, line, made, answer, result.point)
