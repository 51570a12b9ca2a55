"""The weights of a transformers BERT classifier, in one precision and laid out for scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from malaprop.models.scorers.int8 import ByteAffine


def readable(model: Any) -> bool:
    """Whether these weights are all that the model's answer depends on."""
    if type(model).__name__ != "BertForSequenceClassification":
        return False
    settings = model.config.to_dict()
    return settings.get("position_embedding_type", "absolute") == "absolute" and not settings.get("is_decoder", False)


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """A linear map."""

    weight: Float[Tensor, "out in"]
    bias: Float[Tensor, " out"]

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)

    def to(self, dtype: torch.dtype) -> Affine:
        return Affine(self.weight.to(dtype), self.bias.to(dtype))

    @classmethod
    def of(cls, *modules: Any, dtype: torch.dtype) -> Affine:
        """The maps of these modules, one below the other; of a single module nothing is copied."""
        weights, biases = ([getattr(m, kind).detach().to(dtype) for m in modules] for kind in ("weight", "bias"))
        return cls(*(rows[0] if len(rows) == 1 else torch.cat(rows) for rows in (weights, biases)))


@dataclass(frozen=True, slots=True, eq=False)
class Norm:
    """A layer norm."""

    gain: Float[Tensor, " dim"]
    shift: Float[Tensor, " dim"]
    eps: float

    def __call__(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        return F.layer_norm(x, (x.shape[-1],), self.gain, self.shift, self.eps)

    def to(self, dtype: torch.dtype) -> Norm:
        return Norm(self.gain.to(dtype), self.shift.to(dtype), self.eps)

    @classmethod
    def of(cls, module: Any, *, dtype: torch.dtype) -> Norm:
        return cls(module.weight.detach().to(dtype), module.bias.detach().to(dtype), float(module.eps))


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    mixed: Affine | ByteAffine  # queries, keys and values in one product
    joined: Affine | ByteAffine
    up: Affine | ByteAffine
    down: Affine | ByteAffine
    inner: Norm
    outer: Norm
    active: Callable[[Tensor], Tensor]

    def after(self, x: Float[Tensor, "*rows dim"], seen: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """The rest of the layer, from what its attention gives."""
        x = self.inner(self.joined(seen).add_(x))
        return self.outer(self.down(self.active(self.up(x))).add_(x))

    @property
    def maps(self) -> tuple[Affine, Affine, Affine, Affine]:
        """Its products, where they are not in bytes."""
        found = (self.mixed, self.joined, self.up, self.down)
        assert all(isinstance(part, Affine) for part in found)
        return found  # type: ignore[return-value]

    def to(self, dtype: torch.dtype) -> Layer:
        mixed, joined, up, down = (part.to(dtype) for part in self.maps)
        return Layer(mixed, joined, up, down, self.inner.to(dtype), self.outer.to(dtype), self.active)

    def in_bytes(self) -> Layer:
        mixed, joined, up, down = (ByteAffine.of(part.weight, part.bias) for part in self.maps)
        return Layer(mixed, joined, up, down, self.inner, self.outer, self.active)

    @classmethod
    def of(cls, module: Any, *, dtype: torch.dtype) -> Layer:
        inside, joined = module.attention.self, module.attention.output
        return cls(
            mixed=Affine.of(inside.query, inside.key, inside.value, dtype=dtype),
            joined=Affine.of(joined.dense, dtype=dtype),
            up=Affine.of(module.intermediate.dense, dtype=dtype),
            down=Affine.of(module.output.dense, dtype=dtype),
            inner=Norm.of(joined.LayerNorm, dtype=dtype),
            outer=Norm.of(module.output.LayerNorm, dtype=dtype),
            active=module.intermediate.intermediate_act_fn,
        )


@dataclass(frozen=True, slots=True, eq=False)
class BertWeights:
    """All layers but the last are in `dtype`; `last`, `pool` and `head`, which work on one token a text, in float32."""

    words: Float[Tensor, "vocab dim"]
    places: Float[Tensor, "place dim"]  # as in the first segment
    second: Float[Tensor, " dim"]  # what the second segment adds
    norm: Norm
    layers: list[Layer]
    last: Layer
    pool: Affine
    head: Affine
    heads: int

    @property
    def width(self) -> int:
        return self.words.shape[1]

    def in_bytes(self) -> BertWeights:
        """With the products of all layers but the last in int8."""
        return replace(self, layers=[layer.in_bytes() for layer in self.layers])

    def ended(self, x: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch label"]:
        return self.head(self.pool(x).tanh())

    @classmethod
    @torch.no_grad()
    def of(cls, model: Any, *, dtype: torch.dtype) -> BertWeights:
        read, full = model.bert.embeddings, torch.float32
        types = read.token_type_embeddings.weight
        first, second = (types[min(i, len(types) - 1)] for i in range(2))
        *layers, last = model.bert.encoder.layer
        return cls(
            words=read.word_embeddings.weight.detach().to(dtype),
            places=(read.position_embeddings.weight + first).to(dtype),
            second=(second - first).to(dtype),
            norm=Norm.of(read.LayerNorm, dtype=dtype),
            layers=[Layer.of(layer, dtype=dtype) for layer in layers],
            last=Layer.of(last, dtype=full),
            pool=Affine.of(model.bert.pooler.dense, dtype=full),
            head=Affine.of(model.classifier, dtype=full),
            heads=int(model.config.num_attention_heads),
        )
