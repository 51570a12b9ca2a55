"""Linear maps in whole numbers of eight bits, several times as fast on a CPU that multiplies them (VNNI)."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.core.errors import SettingError

_LEAST = 64  # inputs of a map; below, rounding them costs more than it saves
_STEPS = 127


def can_quantise() -> bool:
    """Return whether this torch has int8 products for this CPU."""
    return "x86" in torch.backends.quantized.supported_engines


@dataclass(frozen=True, slots=True, eq=False)
class ByteAffine:
    """A linear map in int8: its weights have a scale for each output, its inputs one for each row.

    The library takes one scale for all rows that it is given, which would make a text's score depend on its neighbours.
    So each row is brought to the same range first, and a row that fills the range goes along.
    """

    packed: Any
    bias: Float[Tensor, " out"]

    @classmethod
    def of(cls, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> ByteAffine:
        weight = weight.detach().float().cpu()
        scales = (weight.abs().amax(1) / _STEPS).clamp(min=1e-12).double()
        with warnings.catch_warnings():  # the tensors are to leave torch, their products are not replaced yet
            warnings.simplefilter("ignore")
            bytes_ = torch.quantize_per_channel(
                weight.contiguous(), scales, torch.zeros(len(weight), dtype=torch.long), 0, torch.qint8
            )
            packed = torch.ops.quantized.linear_prepack(bytes_, None)
        return cls(packed, torch.zeros(len(weight)) if bias is None else bias.detach().float())

    def __call__(self, x: Float[Tensor, "*rows in"]) -> Float[Tensor, "*rows out"]:
        rows = x.reshape(-1, x.shape[-1])
        size = rows.abs().amax(1, keepdim=True).clamp_(min=1e-12)
        even = rows.new_empty(len(rows) + 1, rows.shape[1])
        torch.div(rows, size, out=even[:-1])
        even[-1] = 1
        even[-1, 0] = -1
        made: Tensor = torch.ops.quantized.linear_dynamic(even, self.packed)
        return torch.addcmul(self.bias, made[:-1], size).view(*x.shape[:-1], -1)


class ByteLinear(nn.Module):
    """A module that computes a ByteAffine, in the place of a linear layer."""

    def __init__(self, affine: ByteAffine) -> None:
        super().__init__()
        self.affine = affine

    def forward(self, x: Float[Tensor, "*rows in"]) -> Float[Tensor, "*rows out"]:
        return self.affine(x)


def quantise(model: Any, *, spare: nn.Module | None = None) -> Any:
    """Copy a model with its large linear maps in int8, all but `spare`; the copy shares all other weights."""
    if not can_quantise():
        raise SettingError("this CPU or this torch has no products in int8; use --precision fp32")
    shared = {id(t): t for t in chain(model.parameters(), model.buffers())}
    kept = None if spare is None else next(name for name, part in model.named_modules() if part is spare)
    copy = deepcopy(model, shared)
    for name, part in list(copy.named_modules()):
        weight = _weight(part)
        if weight is None or name == kept or weight.shape[1] < _LEAST:
            continue
        parent, _, last = name.rpartition(".")
        setattr(copy.get_submodule(parent), last, ByteLinear(ByteAffine.of(weight, part.bias)))
    return copy


def _weight(part: Any) -> Float[Tensor, "out in"] | None:
    """Return the weight of a linear map; GPT-2 stores it transposed."""
    if type(part).__name__ == "Conv1D":
        turned: Tensor = part.weight.T
        return turned
    return part.weight if isinstance(part, nn.Linear) else None
