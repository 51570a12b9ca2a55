"""Weights that follow others slowly, as a running mean of them."""

from __future__ import annotations

from itertools import chain

import torch
from torch import Tensor, nn


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, average: float, step: int) -> None:
    """Leaves the share `average` of the slow weights as it is, less in the first steps."""
    share = 1 - min(average, (1 + step) / (10 + step))
    torch._foreach_lerp_(_floats(slow), _floats(fast), share)


def _floats(net: nn.Module) -> list[Tensor]:
    return [t for t in chain(net.parameters(), net.buffers()) if t.is_floating_point()]
