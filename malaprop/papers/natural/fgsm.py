"""The fast gradient sign method (Goodfellow et al. 2015): the baseline beside natural adversaries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as f

from malaprop.core import png
from malaprop.core.capability import Capability, check
from malaprop.data.images import Images, ImageSet
from malaprop.papers.natural.images import predictions
from malaprop.papers.natural.models.image_victim import ImageVictim
from malaprop.papers.natural.record import ImageResult

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
