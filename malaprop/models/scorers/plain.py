"""Plain: whole forward passes over length-sorted batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from malaprop.core.text import Ints
from malaprop.models.batches import Bounds, batches, bounds_for
from malaprop.models.splice import Splice

# ids [batch, token] padded, lengths [batch] -> logits [batch, label]
Forward = Callable[[Int[Tensor, "batch token"], Int[Tensor, " batch"]], Float[Tensor, "batch label"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """The model's own forward. One that does not mask padding (`masks=False`) gets batches of one length."""

    forward: Forward
    masks: bool = True
    bounds: Bounds | None = None

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        bounds = self.bounds or bounds_for(work.device)
        parts = list(batches(work.length, bounds, even=not self.masks))
        return in_order(work, parts, [self.forward(*work.rows(part)) for part in parts])


def in_order(work: Splice, parts: list[Ints], answers: list[Tensor]) -> Float[Tensor, "variant label"]:
    """The answers of all batches, put back in the order of the variants."""
    (back,) = work.ship(np.argsort(np.concatenate(parts)))
    return torch.cat(answers)[back]
