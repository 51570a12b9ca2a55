"""The form of the padding mask that a model takes.

The transformers library turns a mask of ones and zeros into the form that attention adds to its products. On the way it
asks the device whether the mask is full, so every pass waits for the GPU, and none can be recorded (a CUDA graph). A
mask that has the added form already is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from malaprop.models.scorers.plain import make_forward

_SAME = 1e-5  # of two logits in float32, relative to the largest


@torch.inference_mode()
def takes_added_mask(model: Any, rows: Sequence[Sequence[int]], *, pad: int, separator: int | None = None) -> bool:
    """Return whether a mask in the added form gives these rows the same answers as one of ones and zeros.

    `rows` are finished rows of tokens of several lengths: padded to one width, a mask that is not heeded shows.
    """
    if len({len(row) for row in rows}) < 2:
        return False
    device, longest = next(model.parameters()).device, max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    plain: Tensor = make_forward(model, separator=separator)(ids, lengths).float()
    try:
        found: Tensor = make_forward(model, separator=separator, added=True)(ids, lengths).float()
    except Exception:  # noqa: BLE001 - a model fails in its own way at a mask that it was not meant to be given
        return False
    most = _SAME * max(1.0, float(plain.abs().max()))
    return found.shape == plain.shape and bool((found - plain).abs().max() <= most)
