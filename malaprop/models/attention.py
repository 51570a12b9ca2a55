"""Attention from word to word, for victims that have any to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from malaprop.core.errors import VictimError
from malaprop.core.text import Text
from malaprop.models.blocks.offers import Ids, Lengths, Weights
from malaprop.models.gradients.layout import Layout
from malaprop.models.scorers.plain import second_segment

Weigh = Callable[[Ids, Lengths], Weights]
Maps = NDArray[np.float32]  # [layer, head, query, slot]


class Attends(Protocol):
    """A victim that offers attention."""

    @property
    def attention(self) -> WordAttention | None: ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordAttention:
    """Attention between the words of a text: what a word gets is the sum over its tokens, what it pays their mean.

    What goes to special tokens and to marks between the words is left out, so rows need not sum to 1.
    """

    layout: Layout
    weigh: Weigh
    device: torch.device | str = "cpu"

    @torch.inference_mode()
    def words(self, text: Text) -> Maps:
        """[layer, head, query, slot]; queries are the slots, or one that stands for the whole text."""
        (laid,) = self.layout.lay([text])
        row = torch.from_numpy(laid.row)[None].to(self.device)
        found = self.weigh(row, torch.tensor([len(laid.row)], device=self.device))[:, 0].float().cpu().numpy()
        inside = np.zeros((text.slots, len(laid.row)), np.float32)
        for slot, (start, size) in enumerate(zip(laid.start.tolist(), laid.size.tolist(), strict=True)):
            inside[slot, start : start + max(0, size)] = 1
        paid: Maps = found @ inside.T
        if found.shape[2] == 1:
            return paid
        return np.asarray((inside / np.maximum(1, inside.sum(1, keepdims=True))) @ paid, np.float32)


def from_transformers(model: Any, *, separator: int | None = None) -> Weigh:
    """The attention of a transformers classifier, by the plain road: fused kernels keep it to themselves."""

    def weigh(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "l b h q t"]:
        inside = (torch.arange(ids.shape[1], device=ids.device)[None] < lengths[:, None]).long()
        more = {} if separator is None else {"token_type_ids": second_segment(ids, separator) * inside}
        kind = model.config._attn_implementation
        model.set_attn_implementation("eager")
        try:
            found = model(input_ids=ids, attention_mask=inside, output_attentions=True, **more).attentions
        finally:
            model.set_attn_implementation(kind)
        if not found or any(layer is None for layer in found):
            raise VictimError(f"{type(model).__name__} does not show its attention")
        return torch.stack(list(found))

    return weigh
