"""A curve in the plane (the paper's Figure 5): a search in latent space stays on it, one in the plane leaves it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from malaprop.core.score import Flags, Floats
from malaprop.core.seeds import generator
from malaprop.engine.drive import drive
from malaprop.frame.records.summary import Spread
from malaprop.papers.natural.models.training import critic_loss, generator_loss, inverter_loss
from malaprop.papers.natural.record import Synthetic
from malaprop.papers.natural.search.algorithms import Shrinking
from malaprop.papers.natural.search.service import LatentService, LatentSuccess, search_confirmed

BORDER = 0.6
_SEARCH = Shrinking(samples=200, step=0.05, reach=5.0)
_BATCH = 256
_PENALTY = 0.1  # of critics for points in a plane (Gulrajani et al. 2017); with 10 they learn no bends


def curve(many: int, rng: np.random.Generator) -> Floats:
    """Draw points [n, 2] on a wave with a little noise: the way up leads sideways."""
    x = rng.uniform(-2.5, 2.5, many)
    return np.asarray(np.stack([x, np.sin(2 * x)], 1) + 0.02 * rng.standard_normal((many, 2)), np.float32)


@dataclass(frozen=True, eq=False)
class _LearnedPlane:
    """The plane seen through a trained generator."""

    generator: nn.Module
    inverter: nn.Module
    dim: int = 2
    fingerprint: str = ""

    @torch.inference_mode()
    def generate(self, z: Floats) -> Floats:
        return np.asarray(self.generator(torch.from_numpy(z)).numpy())

    @torch.inference_mode()
    def invert(self, items: Any) -> Floats:
        return np.asarray(self.inverter(torch.from_numpy(items)).numpy())


@dataclass(frozen=True)
class _Plane:
    """The plane itself as a manifold: a latent point is its own item."""

    dim: int = 2
    fingerprint: str = ""

    def generate(self, z: Floats) -> Floats:
        return z

    def invert(self, items: Any) -> Floats:
        return np.asarray(items, np.float32)


def _above(items: Floats, answers: Floats) -> Flags:  # noqa: ARG001 - a goal sees both
    return np.asarray(answers > BORDER)


def _height(items: Floats) -> Floats:
    """Return the victim's answers: the heights of the points."""
    return np.asarray(items[:, 1])


def show(many: int = 40, *, seed: int = 0, steps: int = 1500) -> Synthetic:
    """Train a small WGAN and its inverter on the curve, then search from points below the border in both spaces."""
    rng = generator(seed, "curve")
    data = curve(2000, rng)
    learned = _train(data, seed, steps)
    below = data[data[:, 1] < BORDER - 0.1]
    origins = below[rng.permutation(len(below))[:many]]
    found: list[NDArray[np.float32]] = []
    for manifold in (learned, _Plane()):
        looks = LatentService(manifold=manifold, victim=_height)
        starts = manifold.invert(origins)
        jobs = [(i, search_confirmed(_SEARCH, z, _above, generator(seed, str(i)))) for i, z in enumerate(starts)]
        results: dict[int, LatentSuccess] = dict(drive(jobs, {"latent": looks, "verify": looks}, width=many))
        points = [results[i].point for i in range(len(origins))]
        found.append(manifold.generate(np.asarray([p for p in points if p is not None], np.float32).reshape(-1, 2)))
    z = learned.invert(data[:600])
    return Synthetic(
        data=_pairs(data[:600]),
        rebuilt=_pairs(learned.generate(z)),
        latent=_pairs(z),
        border=BORDER,
        origins=_pairs(origins),
        on_curve=_pairs(found[0]),
        off_curve=_pairs(found[1]),
        latent_apart=Spread.of(apart(found[0], data)),
        plane_apart=Spread.of(apart(found[1], data)),
    )


def apart(points: Floats, data: Floats) -> list[float]:
    """Return each point's distance from the nearest data point."""
    return [float(np.linalg.norm(data - point, axis=1).min()) for point in points]


def _pairs(points: Floats) -> tuple[tuple[float, float], ...]:
    return tuple((round(float(x), 4), round(float(y), 4)) for x, y in points)


def _net(a: int, b: int) -> nn.Module:
    sizes = (a, 96, 96, 96)
    layers = [layer for x, y in pairwise(sizes) for layer in (nn.Linear(x, y), nn.LeakyReLU(0.01))]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], b))


def _train(data: Floats, seed: int, steps: int) -> _LearnedPlane:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        nets = {"generator": _net(2, 2), "critic": _net(2, 1), "inverter": _net(2, 2)}
        ways = {name: torch.optim.Adam(net.parameters(), 1e-3, betas=(0.5, 0.9)) for name, net in nets.items()}
        whole = torch.from_numpy(data)

        def real() -> Tensor:
            return whole[torch.randint(len(whole), (_BATCH,))]

        def descend(name: str, loss: Tensor) -> None:
            ways[name].zero_grad(set_to_none=True)
            loss.backward(inputs=list(nets[name].parameters()))  # type: ignore[no-untyped-call]
            ways[name].step()

        for _ in range(steps):
            for _ in range(3):
                made = nets["generator"](torch.randn(_BATCH, 2)).detach()
                descend("critic", critic_loss(nets["critic"], real(), made, torch.rand(_BATCH, 1), _PENALTY)[0])
            descend("generator", generator_loss(nets["critic"], nets["generator"](torch.randn(_BATCH, 2))))
        for _ in range(steps):
            loss = inverter_loss(nets["generator"], nets["inverter"], real(), torch.randn(_BATCH, 2), 0.1)
            descend("inverter", loss[0])
    return _LearnedPlane(nets["generator"].eval(), nets["inverter"].eval())
