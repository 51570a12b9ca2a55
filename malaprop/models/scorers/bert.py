"""BertScorer and PackedBert: a transformers BERT, DistilBERT or RoBERTa classifier, read as plain weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from malaprop.core.errors import SettingError
from malaprop.models.scorers.bertweights import BertLayer, BertWeights, can_prepack, readable
from malaprop.models.scorers.packing import Edges, Packed, Packing, attend, can_pack
from malaprop.models.scorers.plain import in_order, second_segment
from malaprop.models.tokens.batches import Bounds, batches, bounds_for
from malaprop.models.tokens.splice import Splice


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


__all__ = ["BertScorer", "readable"]

_SHARED = 0.7  # of the tokens of a batch are distinct: below it the first layer's products are made once for each

Inside = Bool[Tensor, "batch 1 1 token"] | None  # None: all rows are as long


@dataclass(frozen=True, eq=False, kw_only=True)
class BertScorer:
    """Computes the classifier's own logits with fewer products.

    Queries, keys and values are one product; in the first layer it is made once for each (token, place) of a batch,
    which most variants of a base have in common. The last layer is worked out for the first token alone, as the
    classifier reads nothing else, and without keys and values (see `_first_token`). `separator` is the token behind
    which the second segment begins; None: there is one segment.

    `dtype` other than float32 moves scores by about 1e-3, but no neighbour in a batch does: rows of other lengths are
    kept apart, or on a GPU packed into batches of one size. The weights must not change once a text was scored.
    """

    model: Any  # readable(model); transformers is not imported here
    separator: int | None = None
    dtype: torch.dtype = torch.float32
    int8: bool = False  # whether the products of all layers but the last are in bytes
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        if not readable(self.model):
            raise SettingError(
                f"BertScorer reads classifiers of BERT, DistilBERT and RoBERTa, "
                f"got {type(self.model).__name__}; use Plain"
            )

    @property
    def half(self) -> bool:
        return self.dtype != torch.float32

    @property
    def road(self) -> str:
        """Describe for reports how texts were batched so far; empty where by similar length."""
        return self._packed.road if "_packed" in vars(self) else ""

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        if self.half and work.device.type == "cuda" and can_pack() and self._weights.padding is None:
            return self._packed.logits(work)
        bounds = self.bounds or self._bounds(work.device)
        parts, answers = list(batches(work.length, bounds, even=self.half)), []
        for part in parts:
            ids, lengths = work.rows(part)
            even = int(work.length[part].min()) == ids.shape[1]
            answers.append(self.forward(ids, None if even else lengths))
        return in_order(work, parts, answers)

    def _bounds(self, device: torch.device) -> Bounds:
        """Return the limits of a batch; on a CPU, full at a few hundred tokens, padding costs more than small ones."""
        if device.type == "cpu":
            return Bounds(rows=32, waste=0.03)
        return bounds_for(device, bytes_per_token=64 * self._weights.width)

    def forward(
        self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch label"]:
        """Return the logits of token rows; `lengths=None` says that no row is padded."""
        return self._answered(*self._opened(ids), _inside(ids, lengths))

    @torch.inference_mode()
    def shifted(
        self,
        ids: Int[Tensor, "batch token"],
        lengths: Int[Tensor, " batch"] | None,
        at: tuple[Int[Tensor, " shift"], Int[Tensor, " shift"]],
        by: Float[Tensor, "shift dim"],
    ) -> Float[Tensor, "batch label"]:
        """Return the logits with these vectors added to those of the tokens `at` (row, place)."""
        weights = self._weights
        x = F.embedding(ids, weights.words).index_put(at, by.to(weights.words.dtype), accumulate=True)
        x += F.embedding(weights.place(ids), weights.places)
        if self.separator is not None:
            x += second_segment(ids, self.separator)[..., None] * weights.second
        return self._answered(weights.norm(x), None, _inside(ids, lengths))

    def _answered(
        self, x: Float[Tensor, "batch token dim"], mixed: Float[Tensor, "batch token dims"] | None, inside: Inside
    ) -> Float[Tensor, "batch label"]:
        weights = self._weights
        for number, layer in enumerate(weights.layers):
            mixed = mixed if number == 0 and mixed is not None else layer.mixed(x)
            x = layer.after(x, self._attended(mixed, inside))
        return weights.ended(_first_token(weights.last, x.float(), inside, weights.heads))

    def _opened(
        self, ids: Int[Tensor, "batch token"]
    ) -> tuple[Float[Tensor, "batch token dim"], Float[Tensor, "batch token dims"] | None]:
        """Return the input of the first layer and, where many rows share it, its queries, keys and values."""
        weights = self._weights
        place = weights.place(ids)
        second = None if self.separator is None else second_segment(ids, self.separator)
        if ids.is_cuda or not weights.layers:  # there it would wait for the count of them
            return self._embedded(ids, place, second), None
        keys = (ids * 2 if second is None else ids * 2 + second) * len(weights.places) + place
        distinct, back = keys.flatten().unique(return_inverse=True)  # type: ignore[no-untyped-call]
        if len(distinct) > _SHARED * len(back):
            return self._embedded(ids, place, second), None
        rest = distinct // len(weights.places)
        x = self._embedded(rest // 2, distinct % len(weights.places), None if second is None else rest % 2)
        mixed = weights.layers[0].mixed(x)
        return tuple(t.index_select(0, back).view(*ids.shape, -1) for t in (x, mixed))  # type: ignore[return-value]

    def _embedded(
        self, ids: Int[Tensor, " *rows"], place: Int[Tensor, " *rows"], second: Int[Tensor, " *rows"] | None
    ) -> Float[Tensor, "*rows dim"]:
        weights = self._weights
        x = F.embedding(ids, weights.words) + F.embedding(place, weights.places)
        if second is not None:
            x += second[..., None] * weights.second
        return weights.norm(x)

    def _attended(self, mixed: Float[Tensor, "batch token dims"], inside: Inside) -> Float[Tensor, "batch token dim"]:
        weights = self._weights
        split = mixed.view(*mixed.shape[:2], 3, weights.heads, weights.width // weights.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=inside).transpose(1, 2).flatten(2)

    @cached_property
    def _weights(self) -> BertWeights:
        weights = BertWeights.of(self.model, dtype=self.dtype)
        if self.int8:
            return weights.in_bytes()
        return (
            weights.prepacked() if weights.words.device.type == "cpu" and not self.half and can_prepack() else weights
        )

    @cached_property
    def _packed(self) -> Packing:
        network = PackedBert(weights=self._weights, separator=self.separator)
        return Packing(network=network, longest=len(self._weights.places))


def _inside(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"] | None) -> Inside:
    if lengths is None:
        return None
    return (torch.arange(ids.shape[1], device=ids.device)[None] < lengths[:, None])[:, None, None]


def _first_token(
    layer: BertLayer, x: Float[Tensor, "batch token dim"], inside: Inside, heads: int
) -> Float[Tensor, "batch dim"]:
    """Compute a whole layer for the first token alone.

    Its query times a key, q (K x), is (q K) x, and the sum of values, a (V x), is V (a x): with one query a text both
    cost a fortieth of the products for every token. A key's bias moves all scores alike, so it says nothing.
    """
    first, dim = x[:, 0], x.shape[2]
    each = dim // heads
    mixed, *_ = layer.maps
    to_query, to_key, to_value = mixed.weight.view(3, heads, each, dim)
    bias = mixed.bias.view(3, heads, each)
    q = F.linear(first, to_query.flatten(0, 1), bias[0].flatten()).view(-1, heads, each).transpose(0, 1)
    asks = (q @ to_key).transpose(0, 1)  # [batch, head, dim]
    scores = (asks @ x.transpose(1, 2)).div_(math.sqrt(each))
    if inside is not None:
        scores = scores.masked_fill_(~inside[:, 0], -torch.inf)
    seen = (scores.softmax(-1) @ x).transpose(0, 1)  # [head, batch, dim]
    values = torch.baddbmm(bias[2][:, None], seen, to_value.transpose(1, 2))
    return layer.after(first, values.transpose(0, 1).flatten(1))
