"""Run one latent search against one victim, around every item of a dataset, images and sentences alike."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.score import Floats
from malaprop.core.seeds import generator
from malaprop.engine.drive import drive
from malaprop.engine.service import Service
from malaprop.papers.natural.search.probe import CAP, LatentSearch, LatentSuccess, search_confirmed
from malaprop.papers.natural.search.service import Goal


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
