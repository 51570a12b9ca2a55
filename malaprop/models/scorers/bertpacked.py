"""PackedBert: BERT in half precision on a GPU, texts laid end to end without padding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from malaprop.models.scorers.bertweights import BertLayer, BertWeights
from malaprop.models.scorers.packing import Packed
from malaprop.models.scorers.varlen import Edges, attend


@dataclass(frozen=True, eq=False, kw_only=True)
class PackedBert:
    """A network for `Packing`, whose last layer computes the first token of each text alone."""

    weights: BertWeights
    separator: int | None = None

    @property
    def labels(self) -> int:
        return len(self.weights.head.bias)

    def forward(self, batch: Packed, most: int) -> Float[Tensor, "text label"]:
        weights, edges = self.weights, Edges(batch.edges, most)
        x = F.embedding(batch.ids, weights.words) + F.embedding(batch.place, weights.places)
        if self.separator is not None:
            x += batch.second[:, None] * weights.second
        x = weights.norm(x)
        for layer in weights.layers:
            q, k, v = self._heads(layer.mixed(x), 3)
            x = layer.after(x, attend(q, k, v, edges, edges).flatten(1))
        return weights.ended(self._first_tokens(self._last, x, edges).float())

    def _first_tokens(self, layer: BertLayer, x: Float[Tensor, "token dim"], edges: Edges) -> Float[Tensor, "text dim"]:
        """Compute the last layer, beyond keys and values, for the first token of each text."""
        dim, (weight, bias) = self.weights.width, (layer.maps[0].weight, layer.maps[0].bias)
        k, v = self._heads(F.linear(x, weight[dim:], bias[dim:]), 2)
        first = x.index_select(0, edges.at[:-1].clamp(max=len(x) - 1))
        (q,) = self._heads(F.linear(first, weight[:dim], bias[:dim]), 1)
        singly = torch.arange(len(edges.at), device=x.device, dtype=torch.int32)
        return layer.after(first, attend(q, k, v, Edges(singly, 1), edges).flatten(1))

    def _heads(self, mixed: Float[Tensor, "token dims"], parts: int) -> tuple[Float[Tensor, "token head each"], ...]:
        heads = self.weights.heads
        return mixed.view(len(mixed), parts, heads, self.weights.width // heads).unbind(1)

    @cached_property
    def _last(self) -> BertLayer:
        return self.weights.last.to(self.weights.words.dtype)
