"""BertScorer: a transformers BertForSequenceClassification, read as plain weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from malaprop.core.errors import SettingError
from malaprop.models.batches import Bounds, batches, bounds_for
from malaprop.models.scorers.plain import in_order, second_segment
from malaprop.models.splice import Splice


def readable(model: Any) -> bool:
    """Whether BertScorer computes what this transformers model does."""
    if type(model).__name__ != "BertForSequenceClassification":
        return False
    settings = model.config.to_dict()
    return settings.get("position_embedding_type", "absolute") == "absolute" and not settings.get("is_decoder", False)


@dataclass(frozen=True, slots=True, eq=False)
class _Affine:
    """A linear map, or the gain and shift of a layer norm."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    mixed: _Affine  # queries, keys and values in one product
    joined: _Affine
    up: _Affine
    down: _Affine
    inner: _Affine
    outer: _Affine
    active: Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False, kw_only=True)
class BertScorer:
    """The same answers for less: one product for queries, keys and values, and no mask where all rows are as long.

    In the last layer only the first token is worked out beyond keys and values, as the classifier reads nothing else.
    `separator` is the token behind which the second segment begins; None: there is one segment. `dtype` other than
    float32 moves scores by about 1e-3. The weights must not change once a text was scored.
    """

    model: Any  # readable(model); transformers is not imported here
    separator: int | None = None
    dtype: torch.dtype = torch.float32
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        if not readable(self.model):
            raise SettingError(
                f"BertScorer reads BertForSequenceClassification, got {type(self.model).__name__}; use Plain"
            )

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        bounds = self.bounds or bounds_for(work.device, rows=32, bytes_per_token=64 * self._width)
        parts, answers = list(batches(work.length, bounds)), []
        for part in parts:
            ids, lengths = work.rows(part)
            even = int(work.length[part].min()) == ids.shape[1]
            answers.append(self.forward(ids, None if even else lengths))
        return in_order(work, parts, answers)

    def forward(
        self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch label"]:
        """`lengths=None` says that no row is padded."""
        x, mask = self._embedded(ids), None
        if lengths is not None:
            mask = (torch.arange(ids.shape[1], device=ids.device)[None] < lengths[:, None])[:, None, None]
        for layer in self._layers[:-1]:
            q, k, v = self._heads(layer.mixed(x))
            x = self._after(layer, x, F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
        last, dim = self._layers[-1], self._width
        k, v = self._heads(F.linear(x, last.mixed.weight[dim:], last.mixed.bias[dim:]))
        x = x[:, :1]
        (q,) = self._heads(F.linear(x, last.mixed.weight[:dim], last.mixed.bias[:dim]))
        x = self._after(last, x, F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
        pool, head = self._ends
        return head(pool(x[:, 0]).tanh()).float()

    def _embedded(self, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token dim"]:
        words, places, second, norm = self._tables
        x = F.embedding(ids, words) + places[: ids.shape[1]]
        if self.separator is not None:
            x += second_segment(ids, self.separator)[..., None] * second
        return self._normed(norm, x)

    def _heads(self, x: Float[Tensor, "batch token dims"]) -> tuple[Float[Tensor, "batch head token each"], ...]:
        heads = self.model.config.num_attention_heads
        split = x.view(*x.shape[:2], -1, heads, self._width // heads)
        return split.permute(2, 0, 3, 1, 4).unbind(0)

    def _after(
        self,
        layer: _Layer,
        x: Float[Tensor, "batch token dim"],
        mixed: Float[Tensor, "batch head token each"],
    ) -> Float[Tensor, "batch token dim"]:
        x = self._normed(layer.inner, layer.joined(mixed.transpose(1, 2).flatten(2)).add_(x))
        return self._normed(layer.outer, layer.down(layer.active(layer.up(x))).add_(x))

    def _normed(self, norm: _Affine, x: Float[Tensor, "batch token dim"]) -> Float[Tensor, "batch token dim"]:
        return F.layer_norm(x, (self._width,), norm.weight, norm.bias, self.model.config.layer_norm_eps)

    @property
    def _width(self) -> int:
        return int(self.model.config.hidden_size)

    def _affine(self, *modules: Any) -> _Affine:
        """The parameters of these modules, one below the other; of a single module they are not copied."""
        weights, biases = ([getattr(m, kind).to(self.dtype) for m in modules] for kind in ("weight", "bias"))
        return _Affine(*(rows[0] if len(rows) == 1 else torch.cat(rows) for rows in (weights, biases)))

    @cached_property
    def _tables(self) -> tuple[Tensor, Tensor, Tensor, _Affine]:
        """Words; places as in the first segment; what the second adds; the norm."""
        from_model = self.model.bert.embeddings
        first, second = (from_model.token_type_embeddings.weight[min(i, self._segments - 1)] for i in range(2))
        words, places = from_model.word_embeddings.weight, from_model.position_embeddings.weight + first
        words, places, more = (t.to(self.dtype) for t in (words, places, second - first))
        return words, places, more, self._affine(from_model.LayerNorm)

    @cached_property
    def _ends(self) -> tuple[_Affine, _Affine]:
        return self._affine(self.model.bert.pooler.dense), self._affine(self.model.classifier)

    @property
    def _segments(self) -> int:
        return int(self.model.config.type_vocab_size)

    @cached_property
    def _layers(self) -> list[_Layer]:
        out = []
        for layer in self.model.bert.encoder.layer:
            inside, joined = layer.attention.self, layer.attention.output
            out.append(
                _Layer(
                    mixed=self._affine(inside.query, inside.key, inside.value),
                    joined=self._affine(joined.dense),
                    up=self._affine(layer.intermediate.dense),
                    down=self._affine(layer.output.dense),
                    inner=self._affine(joined.LayerNorm),
                    outer=self._affine(layer.output.LayerNorm),
                    active=layer.intermediate.intermediate_act_fn,
                )
            )
        return out
