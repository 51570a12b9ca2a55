"""Attention from word to word, for victims that have any to show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.insight import Focus
from malaprop.core.score import Floats
from malaprop.core.text import Text
from malaprop.models.gradients.layout import Laid, Layout
from malaprop.models.gradients.tokens import padded
from malaprop.models.inside.network import Ids, Lengths, Weights
from malaprop.models.scorers.plain import second_segment
from malaprop.models.tokens.batches import Bounds, batches

Weigh = Callable[[Ids, Lengths], Weights]
Maps = NDArray[np.float32]  # [layer, head, query, slot]
_BOUNDS = Bounds(rows=64, tokens=1 << 12)  # of each token there are weights on all others, in every head and layer


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordAttention:
    """Attention between the words of a text: what a word gets is the sum over its tokens, what it pays their mean.

    What goes to special tokens and to marks between the words is left out, so rows need not sum to 1.
    """

    layout: Layout
    weigh: Weigh
    device: torch.device | str = "cpu"
    pad: int = 0
    masks: bool = True  # whether padding is masked; if not, batches are of one length
    first: bool = False  # whether a first token stands for the whole text

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

    @torch.inference_mode()
    def focus(self, looks: Sequence[Focus]) -> list[Floats]:
        """The attention that each slot gets, for many texts in few passes."""
        laid = self.layout.lay([look.text for look in looks])
        out: list[Floats] = [np.empty(0, np.float32)] * len(looks)
        lengths = np.fromiter((len(one.row) for one in laid), np.int64, len(laid))
        for part in batches(lengths, _BOUNDS, even=not self.masks):
            mine = part.tolist()
            ids, sizes = padded([laid[i].row for i in mine], self.pad, self.device)
            found = self.weigh(ids, sizes).float().mean(2)  # [layer, batch, query, token]
            for at, i in enumerate(mine):
                out[i] = _by_slot(self._line(found[:, at, :, : len(laid[i].row)], looks[i]), laid[i])
        return out

    def _line(self, maps: Float[Tensor, "layer query token"], look: Focus) -> Floats:
        """What each token gets in one layer, of one text."""
        layers, queries, tokens = maps.shape
        if not -layers <= look.layer < layers:
            raise SettingError(f"layer must lie from 0 to {layers - 1} (-1 is the last), got {look.layer}")
        map_ = maps[look.layer]
        if queries == 1:
            row = map_[0]
        elif look.direction == "received":
            row = map_[:tokens].mean(0)
        elif self.first:
            row = map_[0]
        else:
            raise SettingError("direction=cls wants a victim whose first token stands for the text; use received")
        found: Floats = row.cpu().numpy()
        return found


def _by_slot(line: Floats, laid: Laid) -> Floats:
    """Added up over the tokens of each word; nan where the cut leaves it out."""
    ends = np.concatenate([[0], np.cumsum(line, dtype=np.float64)])
    sizes = np.maximum(laid.size, 0)
    start = np.minimum(laid.start, len(line))
    return np.where(laid.size < 0, np.nan, ends[np.minimum(start + sizes, len(line))] - ends[start]).astype(np.float32)


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
