"""A trained generative model of images: how its folder is written and read, its latent space, and its quality."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from malaprop.core import png
from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.papers.natural.models import networks
from malaprop.papers.natural.models.networks import ImageShape
from malaprop.training.card import ROLES, Card, holds, read_card, write_card
from malaprop.training.folder import TrainingFolder

CARD, WEIGHTS, SHEET = ROLES["image generator"].file, "generator.safetensors", "samples.png"
_BATCH = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageManifold:
    """A generative model of images with its inverter: `generate` and `invert` run the networks on their device."""

    card: Card
    generator: nn.Module
    inverter: nn.Module
    device: str = "cpu"

    @cached_property
    def shape(self) -> ImageShape:
        return ImageShape(**self.card.shape)

    @property
    def dim(self) -> int:
        return self.shape.dim

    @property
    def image(self) -> tuple[int, int, int]:
        return self.shape.channels, self.shape.side, self.shape.side

    @cached_property
    def fingerprint(self) -> str:
        digest = sha256(json.dumps(self.card.shape, sort_keys=True).encode())
        for net in (self.generator, self.inverter):
            for name, tensor in net.state_dict().items():
                digest.update(name.encode())
                digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]

    def check(self, image: tuple[int, int, int], data_fingerprint: str, *, force: bool = False) -> None:
        """Raise on images of another size, and, unless forced, on images that the model was not trained on."""
        if image != self.image:
            raise DataError(f"images are {_size(image)}, but the {self.card.kind} makes {_size(self.image)}")
        if data_fingerprint != self.card.data_fingerprint and not force:
            raise SettingError(
                f"the {self.card.kind} was trained on {self.card.data} ({self.card.data_fingerprint}), not on these "
                f"images ({data_fingerprint}); train one on them, or use --force"
            )

    @torch.inference_mode()
    def generate(self, z: NDArray[np.float32]) -> Tensor:
        """Generate images [point, channel, side, side] in [0, 1], left on the device."""
        made: Tensor = self.generator(torch.from_numpy(np.ascontiguousarray(z, np.float32)).to(self.device))
        return made

    def pictures(self, z: NDArray[np.float32]) -> NDArray[np.float32]:
        """Generate images as an array on the host, in small batches."""
        parts = [self.generate(z[at : at + _BATCH]).cpu().numpy() for at in range(0, len(z), _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, *self.image), np.float32)

    @torch.inference_mode()
    def invert(self, items: NDArray[np.float32]) -> NDArray[np.float32]:
        parts = []
        for at in range(0, len(items), _BATCH):
            batch = torch.from_numpy(np.ascontiguousarray(items[at : at + _BATCH], np.float32)).to(self.device)
            parts.append(self.inverter(batch)[:, : self.dim].float().cpu().numpy())  # of a VAE, the means
        return np.concatenate(parts) if parts else np.zeros((0, self.dim), np.float32)

    def refine(
        self, items: NDArray[np.float32], z: NDArray[np.float32], steps: int, rate: float = 0.05
    ) -> NDArray[np.float32]:
        """Move each point by gradient steps so that its generated image comes nearer to its item; keep the nearest."""
        parts = [
            self._refine_batch(items[at : at + _BATCH], z[at : at + _BATCH], steps, rate)
            for at in range(0, len(z), _BATCH)
        ]
        return np.concatenate(parts) if parts else z

    def _refine_batch(
        self, items: NDArray[np.float32], z: NDArray[np.float32], steps: int, rate: float
    ) -> NDArray[np.float32]:
        with torch.inference_mode(False), torch.enable_grad():
            wanted = torch.from_numpy(np.ascontiguousarray(items)).to(self.device)
            now = torch.from_numpy(z.copy()).to(self.device).requires_grad_()
            best, least = now.detach().clone(), torch.full((len(z),), torch.inf, device=self.device)
            optimiser = torch.optim.Adam([now], lr=rate)
            for _ in range(steps + 1):
                apart = (self.generator(now) - wanted).flatten(1).square().sum(1)
                nearer = apart.detach() < least
                best[nearer], least[nearer] = now.detach()[nearer], apart.detach()[nearer]
                (now.grad,) = torch.autograd.grad(apart.sum(), now)
                optimiser.step()
            return best.cpu().numpy()


def _size(image: tuple[int, int, int]) -> str:
    channels, height, width = image
    return f"{height} x {width} x {channels}"


def save(folder: Path, manifold: ImageManifold, *, half: bool = False) -> None:
    """Write the folder; `half` keeps weights in two bytes, which changes generated pixels in the third digit."""
    from safetensors.torch import save_file

    nets = {"generator": manifold.generator, "inverter": manifold.inverter}
    weights = {
        f"{name}.{key}": (tensor.half() if half and tensor.is_floating_point() else tensor).cpu().contiguous()
        for name, net in nets.items()
        for key, tensor in net.state_dict().items()
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file(weights, folder / f".{WEIGHTS}")
        (folder / f".{WEIGHTS}").replace(folder / WEIGHTS)
        write_card(folder, manifold.card)  # last: a folder with a card is whole
    except OSError as error:
        raise SettingError(f"cannot write {folder}: {error.strerror or error}; name another folder") from None


def is_generator(folder: Path) -> bool:
    return holds(folder, "image generator")


def load(folder: Path, *, device: str = "cpu") -> ImageManifold:
    """Load a generative model from its folder; nothing in it is executed."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    card = read_card(folder, "image generator")
    try:
        shape = ImageShape(**card.shape)
        made = networks.generator(shape), networks.inverter(shape, 2 * shape.dim if card.kind == "vae" else None)
        weights = load_file(folder / WEIGHTS)
        for name, net in zip(("generator", "inverter"), made, strict=True):
            mine = {k.removeprefix(f"{name}."): t for k, t in weights.items() if k.startswith(f"{name}.")}
            net.load_state_dict({k: t.float() if t.is_floating_point() else t for k, t in mine.items()})
            net.to(device).eval().requires_grad_(False)
            if device != "cpu":
                net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # what tensor cores want
    except (OSError, SafetensorError, RuntimeError, TypeError, SettingError) as error:
        reason = str(error).splitlines()[0][:160]
        raise VictimError(f"{folder} is damaged or cut short ({reason}); train the model again") from None
    return ImageManifold(card=card, generator=made[0], inverter=made[1], device=device)


def write_sheet(folder: Path, manifold: ImageManifold, images: NDArray[np.float32], seed: int) -> None:
    """Write samples.png: six rows of random images, then pairs of rows of real images and their reconstructions."""
    z = np.random.default_rng(seed).standard_normal((60, manifold.dim)).astype(np.float32)
    real = images[:20]
    back = manifold.pictures(manifold.invert(real))
    rows = [manifold.pictures(z)]
    for at in range(0, len(real) - len(real) % 10, 10):
        rows += [real[at : at + 10], back[at : at + 10]]
    (folder / SHEET).write_bytes(png.encode(png.sheet(np.concatenate(rows), 10)))


def unfinished(folder: Path, recipe: Mapping[str, Any]) -> TrainingFolder:
    """Return the folder in which an unfinished training keeps its state."""
    return TrainingFolder(folder=folder / "unfinished", recipe=recipe)


Rows = NDArray[np.float64]


def root_mean_square(one: NDArray[np.floating], two: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the root mean square error a pixel of each pair of images."""
    apart = (np.asarray(one, np.float64) - two).reshape(len(one), -1)
    return np.asarray(np.sqrt(np.square(apart).mean(1)))


def sliced_wasserstein(
    one: NDArray[np.floating], two: NDArray[np.floating], *, ways: int = 256, seed: int = 0
) -> float:
    """Return the mean Wasserstein distance of two sets of images along random directions of unit length."""
    a, b = (np.asarray(part, np.float64).reshape(len(part), -1) for part in (one, two))
    size = min(len(a), len(b))
    directions = np.random.default_rng(seed).standard_normal((a.shape[1], ways))
    directions /= np.linalg.norm(directions, axis=0)
    return float(np.abs(np.sort(a[:size] @ directions, 0) - np.sort(b[:size] @ directions, 0)).mean())


def frechet(one: Rows, two: Rows) -> float:
    """Return the Frechet distance of two sets of feature vectors, each taken for a Gaussian."""
    means = one.mean(0) - two.mean(0)
    a, b = _spread(one), _spread(two)
    roots = np.linalg.eigvals(a @ b)
    shared = float(np.sqrt(np.clip(roots.real, 0, None)).sum())
    return float(means @ means + np.trace(a) + np.trace(b) - 2 * shared)


def _spread(rows: Rows) -> Rows:
    """Return the covariances of the rows, zero for a single row."""
    return np.atleast_2d(np.cov(rows, rowvar=False)) if len(rows) > 1 else np.zeros((rows.shape[1],) * 2)


def coverage(made: NDArray[np.int64], real: NDArray[np.int64], classes: int) -> tuple[int, float]:
    """Count the classes with at least a tenth of their real share; also return the distance of all shares (0 to 1)."""
    shares = [np.bincount(labels, minlength=classes)[:classes] / max(1, len(labels)) for labels in (made, real)]
    return int((shares[0] >= 0.1 * shares[1]).sum()), float(0.5 * np.abs(shares[0] - shares[1]).sum())
