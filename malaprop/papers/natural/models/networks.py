"""Generators, critics and inverters of images: strided for small grey images, residual for larger or coloured ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as f

from malaprop.core.errors import SettingError

KINDS = ("strided", "residual")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageShape:
    """The sizes of the networks. The paper: dim 64 and width 64 for 28 x 28, residual with dim 128 for 64 x 64."""

    channels: int
    side: int
    dim: int = 64
    width: int = 64  # filters of the first convolution; each further one has twice as many
    kind: str = "strided"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingError(f"the kind of network is one of {', '.join(KINDS)}, got {self.kind!r}")
        if min(self.channels, self.dim, self.width) < 1 or self.side < 8:
            raise SettingError(f"an image network needs a side of 8 or more and sizes of 1 or more, got {self}")
        if self.kind == "residual" and self.side % 16:
            raise SettingError(f"a residual network needs a side that 16 divides, got {self.side}; use kind=strided")

    @property
    def sides(self) -> tuple[int, ...]:
        """Return the sides of the feature maps, from the smallest to the image: 4, 7, 14, 28."""
        out = [self.side]
        for _ in range(3 if self.kind == "strided" else 4):
            out.append(-(-out[-1] // 2))
        return tuple(reversed(out))

    @property
    def hidden(self) -> int:
        """Return the size of the critic's last hidden layer: 4,096 in the paper's for 28 x 28, 8,192 for 64 x 64."""
        return (4 if self.kind == "strided" else 8) * self.width * self.sides[0] ** 2

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, image: tuple[int, int, int], **given: Any) -> ImageShape:
        """Return the shape for images [channel, height, width]; from a side of 48 that 16 divides it is residual."""
        channels, height, width = image
        if height != width:
            raise SettingError(f"generative models take square images, got {height} x {width}; crop or pad them first")
        large = height >= 48 and not height % 16
        usual: Mapping[str, Any] = {"kind": "residual", "dim": 128} if large else {"kind": "strided"}
        return cls(channels=channels, side=height, **{**usual, **given})


class StridedGenerator(nn.Module):
    """A linear layer and three transposed convolutions with ReLU between (appendix C)."""

    def __init__(self, shape: ImageShape) -> None:
        super().__init__()
        w = shape.width
        self.sides = shape.sides
        self.begin = nn.Linear(shape.dim, shape.hidden)
        widths = (4 * w, 2 * w, w, shape.channels)
        self.layers = nn.ModuleList(nn.ConvTranspose2d(a, b, 5, 2, 2) for a, b in pairwise(widths))

    def forward(self, z: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch channel side side"]:
        x = self.begin(z).unflatten(1, (-1, self.sides[0], self.sides[0]))
        for layer, side in zip(self.layers, self.sides[1:], strict=True):
            x = layer(f.relu(x), output_size=(side, side))
        return torch.sigmoid(x)


class StridedFeatures(nn.Module):
    """Three convolutions of stride 2, up to the critic's last hidden layer."""

    def __init__(self, shape: ImageShape) -> None:
        super().__init__()
        widths = (shape.channels, shape.width, 2 * shape.width, 4 * shape.width)
        self.layers = nn.ModuleList(nn.Conv2d(a, b, 5, 2, 2) for a, b in pairwise(widths))

    def forward(self, x: Float[Tensor, "batch channel side side"]) -> Float[Tensor, "batch hidden"]:
        for layer in self.layers:
            x = f.leaky_relu(layer(x), 0.2)
        return x.flatten(1)


class Residual(nn.Module):
    """A pre-activation block of two 3 x 3 convolutions; upsamples before the second or pools after it."""

    def __init__(self, a: int, b: int, resize: str) -> None:
        super().__init__()
        self.resize = resize
        self.one, self.two = nn.Conv2d(a, b, 3, 1, 1), nn.Conv2d(b, b, 3, 1, 1)
        self.across = nn.Conv2d(a, b, 1)
        norm: Callable[[int], nn.Module] = nn.BatchNorm2d if resize == "up" else _identity
        self.norm_one, self.norm_two = norm(a), norm(b)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.one(f.relu(self.norm_one(x)))
        if self.resize == "up":
            inner, x = (f.interpolate(part, scale_factor=2.0) for part in (inner, x))
        inner = self.two(f.relu(self.norm_two(inner)))
        if self.resize == "down":
            inner, x = (f.avg_pool2d(part, 2) for part in (inner, x))
        out: Tensor = inner + self.across(x)
        return out


def _identity(_: int) -> nn.Module:
    return nn.Identity()


class ResidualGenerator(nn.Module):
    """Four residual blocks that upsample by nearest neighbours (appendix C)."""

    def __init__(self, shape: ImageShape) -> None:
        super().__init__()
        w, self.side = shape.width, shape.sides[0]
        self.begin = nn.Linear(shape.dim, shape.hidden)
        widths = (8 * w, 8 * w, 4 * w, 2 * w, w)
        self.blocks = nn.Sequential(*(Residual(a, b, "up") for a, b in pairwise(widths)))
        self.norm, self.end = nn.BatchNorm2d(w), nn.Conv2d(w, shape.channels, 3, 1, 1)

    def forward(self, z: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch channel side side"]:
        x = self.blocks(self.begin(z).unflatten(1, (-1, self.side, self.side)))
        return torch.sigmoid(self.end(f.relu(self.norm(x))))


class ResidualFeatures(nn.Module):
    """Four residual blocks that pool by means, up to the critic's last hidden layer."""

    def __init__(self, shape: ImageShape) -> None:
        super().__init__()
        w = shape.width
        self.begin = nn.Conv2d(shape.channels, w, 3, 1, 1)
        widths = (w, 2 * w, 4 * w, 8 * w, 8 * w)
        self.blocks = nn.Sequential(*(Residual(a, b, "down") for a, b in pairwise(widths)))

    def forward(self, x: Float[Tensor, "batch channel side side"]) -> Float[Tensor, "batch hidden"]:
        return f.relu(self.blocks(self.begin(x))).flatten(1)


def generator(shape: ImageShape) -> nn.Module:
    """Make the network from latent points [batch, dim] to images in [0, 1]."""
    return StridedGenerator(shape) if shape.kind == "strided" else ResidualGenerator(shape)


def features(shape: ImageShape) -> nn.Module:
    """Make the network from images to the last hidden layer [batch, shape.hidden] of a critic."""
    return StridedFeatures(shape) if shape.kind == "strided" else ResidualFeatures(shape)


def critic(shape: ImageShape) -> nn.Module:
    """Make the network from images to one number each."""
    return nn.Sequential(features(shape), nn.Linear(shape.hidden, 1))


def inverter(shape: ImageShape, outputs: int | None = None) -> nn.Module:
    """Make fully connected layers on a critic's last hidden layer: 4096, 1024 if strided, else 8192, 2048, 512."""
    inner = (1024,) if shape.kind == "strided" else (2048, 512)
    sizes = (shape.hidden, *inner, outputs or shape.dim)
    layers: list[nn.Module] = [features(shape)]
    for place, (a, b) in enumerate(pairwise(sizes)):
        layers += [nn.LeakyReLU(0.2)] if place else []
        layers.append(nn.Linear(a, b))
    return nn.Sequential(*layers)
