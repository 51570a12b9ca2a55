"""Image classifiers: LeNet, perceptrons, and decision forests as arrays that any device evaluates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

Size = tuple[int, int, int]


class LeNet(nn.Module):
    """LeCun et al. 1998: two convolutions with pooling and three full layers. Differs: ReLU, and pooling by maxima."""

    def __init__(self, image: Size, classes: int) -> None:
        super().__init__()
        channels, height, width = image
        self.see = nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5, padding=0 if min(height, width) >= 20 else 2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        with torch.no_grad():
            size = self.see(torch.zeros(1, *image)).shape[1]
        self.think = nn.Sequential(nn.Linear(size, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU())
        self.tell = nn.Linear(84, classes)

    def hidden(self, images: Tensor) -> Float[Tensor, "batch 84"]:
        """Return the last hidden layer, which the Frechet distance compares."""
        out: Tensor = self.think(self.see(images))
        return out

    def forward(self, images: Tensor) -> Float[Tensor, "batch label"]:
        out: Tensor = self.tell(self.hidden(images))
        return out


class Perceptron(nn.Module):
    """Full layers of the given widths with ReLU; `dropout` acts after each hidden one."""

    def __init__(self, image: Size, classes: int, widths: Sequence[int] = (256,), dropout: float = 0.0) -> None:
        super().__init__()
        sizes = (int(np.prod(image)), *widths)
        layers: list[nn.Module] = [nn.Flatten()]
        for a, b in pairwise(sizes):
            layers += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], classes))

    def forward(self, images: Tensor) -> Float[Tensor, "batch label"]:
        out: Tensor = self.layers(images)
        return out


class Forest(nn.Module):
    """Decision trees as arrays: a node tests whether a pixel is at most a threshold; a leaf leads to itself.

    Answers are the logarithms of the trees' mean shares, so that the softmax of them is what scikit-learn gives.
    """

    def __init__(self, weights: Mapping[str, Tensor], depth: int) -> None:
        super().__init__()
        self.depth = depth
        for name in FOREST:
            self.register_buffer(name, weights[name])

    def forward(self, images: Tensor) -> Float[Tensor, "batch label"]:
        flat = images.flatten(1).float()
        buffers = dict(self.named_buffers())
        roots, pixel, limit, left, right, share = (buffers[name] for name in FOREST)
        at = roots.expand(len(flat), -1).clone()
        for _ in range(self.depth):
            low = flat.gather(1, pixel[at]) <= limit[at]
            at = torch.where(low, left[at], right[at])
        return share[at].mean(1).clamp_min(1e-9).log()


FOREST = ("roots", "pixel", "limit", "left", "right", "share")


def forest_arrays(classifier: Any) -> tuple[dict[str, Tensor], int]:
    """Return a scikit-learn forest's trees as arrays laid end to end, and the depth of the deepest."""
    roots, parts = [], []
    base = 0
    for one in classifier.estimators_:
        tree = one.tree_
        leaf = tree.children_left < 0
        here = np.arange(tree.node_count)
        left, right = (np.where(leaf, here, side) + base for side in (tree.children_left, tree.children_right))
        counts = tree.value[:, 0, :]
        # scikit-learn compares a pixel of 32 bits with a threshold of 64: the next lower 32-bit number decides alike
        limit = tree.threshold.astype(np.float32)
        limit = np.where(limit > tree.threshold, np.nextafter(limit, np.float32(-np.inf)), limit)
        parts.append((np.maximum(tree.feature, 0), limit, left, right, counts / counts.sum(1, keepdims=True)))
        roots.append(base)
        base += tree.node_count
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    kinds = (np.int64, np.float32, np.int64, np.int64, np.float32)
    tensors = {name: torch.from_numpy(c.astype(k)) for name, c, k in zip(FOREST[1:], joined, kinds, strict=True)}
    depth = max(int(one.tree_.max_depth) for one in classifier.estimators_)
    return {"roots": torch.tensor(roots), **tensors}, depth


def fresh(kind: str, image: Size, classes: int, settings: Mapping[str, Any]) -> nn.Module:
    """Make an untrained network."""
    if kind == "lenet":
        return LeNet(image, classes)
    return Perceptron(image, classes, tuple(settings.get("widths", (256,))), float(settings.get("dropout", 0.0)))


def _check_trees(arrays: Mapping[str, Tensor], pixels: int) -> None:
    """Raise on arrays, as of a manipulated file, that lead to nodes or pixels that do not exist."""
    nodes = len(arrays["left"])
    if any(len(arrays[name]) != nodes for name in FOREST[1:]):
        raise ValueError("the arrays of its trees differ in length")
    for name, most in (("roots", nodes), ("left", nodes), ("right", nodes), ("pixel", pixels)):
        if not bool(((arrays[name] >= 0) & (arrays[name] < most)).all()):
            raise ValueError(f"{name} of its trees lead out of them")


def network(
    kind: str, image: Size, classes: int, settings: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> nn.Module:
    """Make a trained network from its weights."""
    if kind == "forest":
        _check_trees(weights, math.prod(image))
        return Forest(weights, int(settings["depth"]))
    net = fresh(kind, image, classes, settings)
    net.load_state_dict(dict(weights))
    return net
