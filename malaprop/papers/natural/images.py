"""Latent searches around images: how an image is shown to a victim, how its result is recorded; FGSM.

`Fgsm` is the baseline: the fast gradient sign method (Goodfellow et al. 2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as f

from malaprop.core import png
from malaprop.core.capability import Capability, check
from malaprop.core.score import Floats, winner, winners
from malaprop.data.images import Images, ImageSet
from malaprop.engine.service import FunctionService, Service
from malaprop.papers.natural.models.image_victim import ImageVictim
from malaprop.papers.natural.models.images import ImageManifold, root_mean_square
from malaprop.papers.natural.record import ImageResult
from malaprop.papers.natural.search.service import LatentData, LatentService, OtherLabel

STRIP = 8  # pictures from the start to the adversary
UNKNOWN = -1  # the label of a victim that gave no answer


def make_image_data(data: ImageSet, manifold: ImageManifold, refine: int = 0) -> LatentData:
    """Find where the searches of images start; `refine` gradient steps bring each start nearer to its image."""
    starts = manifold.invert(data.images)
    starts = manifold.refine(data.images, starts, refine) if refine else starts
    return LatentData(items=data, ids=data.ids, starts=starts, returned=manifold.pictures(starts))


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageTarget:
    """A classifier of images as the target of searches; without `labels` misclassified images are searched too."""

    latent_data: LatentData
    manifold: ImageManifold
    victim: ImageVictim
    judge: ImageVictim | None = None
    batch: int = 1024
    labels: bool = True
    drawn: bool = True  # keep pictures in the records

    @property
    def data(self) -> ImageSet:
        found: ImageSet = self.latent_data.items
        return found

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        return root_mean_square(self.latent_data.returned, self.data.images)

    def services(self) -> dict[str, Service]:
        looks = LatentService(manifold=self.manifold, victim=self.victim, batch=self.batch)
        items = FunctionService(
            lambda some: list(self.victim(np.stack(some))), key=lambda image: image.tobytes(), remember=0
        )
        return {"latent": looks, "verify": looks, "items": items}

    def describe(self, at: int) -> ImageResult:
        return ImageResult(
            id=self.data.ids[at],
            status="failed",
            label=int(self.data.labels[at]),
            prediction=UNKNOWN,
            rebuilt=round(float(self.errors[at]), 6),
            original=self._draw(self.data.images[at]),
            returned=self._draw(self.latent_data.returned[at]),
        )

    def show(self, at: int) -> list[Images]:
        return [self.data.images[at], self.latent_data.returned[at]]

    def begin(self, at: int, line: ImageResult, answers: Sequence[Floats]) -> tuple[ImageResult, OtherLabel]:
        del at
        before, after = map(winner, answers)
        wrong = self.labels and before != line.label
        line = replace(line, prediction=before, start=after, status="skipped" if wrong else line.status)
        return line, OtherLabel(before)

    def write(self, at: int, point: Floats) -> tuple[Images, Images]:
        del at
        made = self.manifold.pictures(point[None])[0]
        return made, made

    def tell(
        self, at: int, line: ImageResult, made: tuple[Images, Images], answer: Floats, point: Floats
    ) -> ImageResult:
        image = made[0]
        line = replace(
            line,
            changed=winner(answer),
            judged=None if self.judge is None else int(predictions(self.judge, image[None])[0]),
            pixels=round(float(np.linalg.norm(image - self.data.images[at])), 6),
        )
        if not self.drawn:
            return line
        return replace(
            line,
            adversary=self._draw(image),
            difference=png.address(png.difference(self.latent_data.returned[at], image)),
            strip=self._strip(self.latent_data.starts[at], point),
        )

    def _draw(self, image: Images) -> str:
        return png.address(png.picture_of(image)) if self.drawn else ""

    def _strip(self, start: Floats, end: Floats) -> str:
        shares = np.linspace(0, 1, STRIP, dtype=np.float32)[:, None]
        return png.address(png.sheet(self.manifold.pictures(start + shares * (end - start)), STRIP, gap=1))


def predictions(victim: ImageVictim, images: Images, batch: int = 4096) -> NDArray[np.int64]:
    parts = [winners(victim(images[at : at + batch])) for at in range(0, len(images), batch)]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def error_find(item: Any, seed: int, why: str) -> ImageResult:
    """Return the result of an image that could not be searched."""
    del seed
    return ImageResult(id=item.id, status="error", label=item.label, prediction=UNKNOWN, reason=why)


STEPS = tuple(round(0.02 * k, 2) for k in range(1, 26))


@dataclass(frozen=True, eq=False, kw_only=True)
class Fgsm:
    """The fast gradient sign method: one step along the sign, the smallest of `steps` that changes the answer."""

    data: ImageSet
    victim: ImageVictim
    judge: ImageVictim | None = None
    steps: tuple[float, ...] = STEPS

    def finds(self) -> Iterator[ImageResult]:
        check("fgsm", {Capability.GRADIENTS}, self.victim.name, self.victim.offers)
        before = predictions(self.victim, self.data.images)
        signs = self._signs(before)
        for place, name in enumerate(self.data.ids):
            image, label = self.data.images[place], int(self.data.labels[place])
            find = ImageResult(
                id=name,
                status="skipped",
                label=label,
                prediction=int(before[place]),
                original=png.address(png.picture_of(image)),
            )
            yield find if before[place] != label else self._step(find, image, signs[place])

    def _signs(self, labels: NDArray[np.int64]) -> Images:
        assert self.victim.network is not None
        device = next(self.victim.network.parameters()).device
        images = torch.from_numpy(self.data.images).to(device).requires_grad_()
        loss = f.cross_entropy(self.victim.network(images), torch.from_numpy(labels).to(device), reduction="sum")
        (slope,) = torch.autograd.grad(loss, images)
        return slope.sign().cpu().numpy()

    def _step(self, find: ImageResult, image: Images, sign: Images) -> ImageResult:
        tried = np.stack([np.clip(image + np.float32(step) * sign, 0, 1) for step in self.steps])
        found = predictions(self.victim, tried)
        reached = np.flatnonzero(found != find.prediction)
        if not len(reached):
            reason = f"no step up to {self.steps[-1]:g} changed the answer"
            return replace(find, status="failed", asked=len(tried) + 1, reason=reason)
        at = int(reached[0])
        made = tried[at]
        return replace(
            find,
            status="success",
            start=find.prediction,
            changed=int(found[at]),
            judged=None if self.judge is None else int(predictions(self.judge, made[None])[0]),
            pixels=round(float(np.linalg.norm(made - image)), 6),
            asked=len(tried) + 1,
            adversary=png.address(png.picture_of(made)),
            difference=png.address(png.difference(image, made)),
        )
