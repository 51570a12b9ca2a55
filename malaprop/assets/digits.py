"""Handwritten digits: 5,000 images of MNIST as one array file."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from malaprop.assets.archives import Members
from malaprop.core.errors import AssetError

FILE = "mnist.npz"
_SIDE = 28


def convert(found: Members, out: Path) -> None:
    """Convert rows of 784 pixels and a label into `images` [n, 28, 28] and `labels` [n], as bytes."""
    with found["mnist_5k.csv.gz"]() as stream:
        text = gzip.decompress(stream.read()).decode("ascii")
    try:
        flat = np.asarray(text.replace("\n", ",").rstrip(",").split(","), np.uint8)
        rows = flat.reshape(-1, _SIDE * _SIDE + 1)
    except ValueError as error:
        raise AssetError(f"the archive's digits are not rows of {_SIDE * _SIDE} pixels and a label: {error}") from None
    images = rows[:, :-1].reshape(-1, _SIDE, _SIDE)
    np.savez_compressed(out / FILE, images=images, labels=rows[:, -1])
