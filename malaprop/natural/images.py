"""Natural adversaries of image classifiers: many searches side by side, each outcome written as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.latent.clouds import Looks, OtherLabel
from malaprop.attacks.latent.hunt import CAP, Catch, hunt
from malaprop.attacks.latent.probe import LatentSearch
from malaprop.core import png
from malaprop.core.ask import Steps
from malaprop.core.score import Floats, winners
from malaprop.core.seeds import generator
from malaprop.data.images import Images, ImageSet
from malaprop.engine.drive import drive
from malaprop.models.generative.images import ImageManifold
from malaprop.models.generative.quality import root_mean_square
from malaprop.models.victims.image import ImageVictim
from malaprop.records.ids import Ids
from malaprop.records.natural import FINDS, Find
from malaprop.records.run import Run
from malaprop.records.store import write_entries

STRIP = 8  # pictures from the start to the adversary


@dataclass(frozen=True, eq=False, kw_only=True)
class Ground:
    """What every victim of a comparison shares: images, where their searches start, and what that gives back."""

    data: ImageSet
    manifold: ImageManifold
    refine: int = 0  # gradient steps that bring the start nearer to the image

    @cached_property
    def starts(self) -> Floats:
        z = self.manifold.invert(self.data.images)
        return self.manifold.refine(self.data.images, z, self.refine) if self.refine else z

    @cached_property
    def returned(self) -> Images:
        return self.manifold.pictures(self.starts)

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        return root_mean_square(self.returned, self.data.images)


@dataclass(frozen=True, eq=False, kw_only=True)
class Quest:
    """One victim under one search. `labels` false: also images that the victim has wrong, as no label is looked at."""

    ground: Ground
    victim: ImageVictim
    search: LatentSearch
    judge: ImageVictim | None = None
    seed: int = 0
    width: int = 64
    cap: int = CAP
    batch: int = 1024
    labels: bool = True
    drawn: bool = True  # keep pictures in the records

    @cached_property
    def predictions(self) -> NDArray[np.int64]:
        return predictions(self.victim, self.ground.data.images)

    def finds(self, done: Ids | frozenset[str] = frozenset()) -> Iterator[Find]:
        """Finished images, in the order they end; `done` are left out."""
        ground = self.ground
        now = predictions(self.victim, ground.returned)
        places = [i for i, name in enumerate(ground.data.ids) if name not in done]
        looks = Looks(manifold=ground.manifold, victim=self.victim, batch=self.batch)
        jobs: list[tuple[int, Steps[Catch]]] = []
        for place in places:
            if self.labels and self.predictions[place] != ground.data.labels[place]:
                yield self._blank(place, int(now[place]), "skipped")
                continue
            goal = OtherLabel(int(self.predictions[place]))
            rng = generator(self.seed, "latent", ground.data.ids[place])
            jobs.append((place, hunt(self.search, ground.starts[place], goal, rng, cap=self.cap)))
        for place, catch in drive(jobs, {"latent": looks, "verify": looks}, width=self.width):
            yield self._told(place, int(now[place]), catch)

    def _blank(self, place: int, start: int, status: str) -> Find:
        data = self.ground.data
        return Find(
            id=data.ids[place],
            status=status,
            label=int(data.labels[place]),
            prediction=int(self.predictions[place]),
            start=start,
            rebuilt=round(float(self.ground.errors[place]), 6),
            original=png.address(png.picture_of(data.images[place])) if self.drawn else "",
            returned=png.address(png.picture_of(self.ground.returned[place])) if self.drawn else "",
        )

    def _told(self, place: int, start: int, catch: Catch) -> Find:
        """A catch in words and pictures."""
        status = "error" if catch.failed else "failed" if catch.point is None else "success"
        find = replace(self._blank(place, start, status), asked=catch.asked, reason=catch.reason or None)
        if catch.point is None or catch.distance is None:
            return find
        made = self.ground.manifold.pictures(catch.point[None])
        judged = None if self.judge is None else int(predictions(self.judge, made)[0])
        find = replace(
            find,
            changed=int(predictions(self.victim, made)[0]),
            judged=judged,
            distance=round(catch.distance, 6),
            pixels=round(float(np.linalg.norm(made[0] - self.ground.data.images[place])), 6),
        )
        if not self.drawn:
            return find
        return replace(
            find,
            adversary=png.address(png.picture_of(made[0])),
            difference=png.address(png.difference(self.ground.returned[place], made[0])),
            strip=self._strip(self.ground.starts[place], catch.point),
        )

    def _strip(self, start: Floats, end: Floats) -> str:
        shares = np.linspace(0, 1, STRIP, dtype=np.float32)[:, None]
        return png.address(png.sheet(self.ground.manifold.pictures(start + shares * (end - start)), STRIP, gap=1))


def predictions(victim: ImageVictim, images: Images, batch: int = 4096) -> NDArray[np.int64]:
    parts = [winners(victim(images[at : at + batch])) for at in range(0, len(images), batch)]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def write_finds(quest: Quest, folder: Path, run: Run, *, resume: bool, seen: Callable[[Find], None]) -> list[Find]:
    """Runs a quest into a folder; gives all its finds in the order of the data."""
    found = write_entries(folder, run, FINDS, quest.finds, resume=resume, seen=seen)
    return in_order(found, quest.ground.data.ids)


def in_order(finds: Sequence[Find], ids: Sequence[str]) -> list[Find]:
    place = {name: number for number, name in enumerate(ids)}
    return sorted((find for find in finds if find.id in place), key=lambda find: place[find.id])
