"""Adapters: what a training adds to an encoder's matrices, as products of two thin ones (Hu et al. 2022).

An encoder that stays as it was published and an adapter of some hundred kilobytes make a model that could not be
packaged whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

FILE = "adapter.safetensors"
_SCALE = ".scale"  # a row of bytes times its scale is the row of weights


class Adapter(nn.Module):
    """A linear layer that stays as it is, plus a product of two matrices of `rank` rows and columns that learn."""

    def __init__(self, plain: nn.Linear, rank: int) -> None:
        super().__init__()
        self.plain = plain.requires_grad_(False)
        like = plain.weight
        self.down = nn.Parameter(torch.randn(rank, plain.in_features).to(like) / math.sqrt(plain.in_features))
        self.up = nn.Parameter(torch.zeros(plain.out_features, rank).to(like))

    def forward(self, x: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        added = functional.linear(functional.linear(x, self.down), self.up)
        return self.plain(x) + added  # type: ignore[no-any-return]


def attach(model: Any, rank: int) -> None:
    """Holds the body of a masked language model and gives each linear layer of it an adapter; the head learns."""
    body = model.base_model.requires_grad_(False)
    for parent, name, layer in list(_layers(body, nn.Linear)):
        setattr(parent, name, Adapter(layer, rank))


def merge(model: Any) -> None:
    """Adds what the adapters learnt to the layers, which then stand alone again."""
    for parent, name, adapter in list(_layers(model.base_model, Adapter)):
        with torch.no_grad():
            adapter.plain.weight += adapter.up @ adapter.down
        setattr(parent, name, adapter.plain)


def _layers(body: nn.Module, kind: type[nn.Module]) -> Iterator[tuple[nn.Module, str, Any]]:
    for parent in body.modules():
        if not isinstance(parent, Adapter):
            yield from ((parent, name, child) for name, child in parent.named_children() if type(child) is kind)


def learnt(model: Any) -> dict[str, Tensor]:
    """The weights that learn: adapters and head, without the output matrix, which is the table of embeddings."""
    tied = {id(p) for p in model.get_input_embeddings().parameters()}
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad and id(p) not in tied}


def write_small(model: Any, path: Path) -> None:
    """What learnt, matrices in one byte a weight with a scale a row, the rest in two."""
    from safetensors.torch import save_file

    kept: dict[str, Tensor] = {}
    for name, weights in learnt(model).items():
        rows = weights.float().cpu()
        if rows.ndim == 1:
            kept[name] = rows.half()
            continue
        scale = rows.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127
        kept |= {name: (rows / scale).round().to(torch.int8), name + _SCALE: scale.float()}
    save_file(kept, path)
