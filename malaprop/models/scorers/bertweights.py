"""The weights of a transformers BERT, DistilBERT or RoBERTa classifier, in one precision and laid out for scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from malaprop.models.scorers.int8 import ByteAffine

_ROWS = 512  # that the library is told to expect; any number of them is read


@dataclass(frozen=True, slots=True, eq=False)
class PrepackedAffine:
    """A linear map for inference on a CPU; `gelu` says that the error linear unit follows.

    Of a batch of 900 rows a product takes nine tenths of the time, and with its activation three fifths.
    """

    packed: Tensor
    bias: Float[Tensor, " out"]
    gelu: bool = False

    def __call__(self, x: Float[Tensor, "*rows in"]) -> Float[Tensor, "*rows out"]:
        made: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self.packed, self.bias, "gelu" if self.gelu else "none", [], "none" if self.gelu else ""
        )
        return made

    @classmethod
    def of(cls, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"], *, gelu: bool = False) -> PrepackedAffine:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), _ROWS)
        return cls(packed, bias.detach(), gelu)


@cache
@torch.inference_mode()
def can_prepack() -> bool:
    """Return whether this torch has prepacked products for this processor; one trial decides."""
    if not torch._C._has_mkldnn:
        return False
    x, weight, bias = (
        torch.linspace(-1, 1, 2 * 3 * 16).view(2, 3, 16),
        torch.linspace(-1, 1, 128).view(8, 16),
        torch.ones(8),
    )
    try:
        made = PrepackedAffine.of(weight, bias, gelu=True)(x)
    except (AttributeError, RuntimeError):  # private names, which another release may lack
        return False
    return made.shape == (2, 3, 8) and torch.allclose(made, F.gelu(F.linear(x, weight, bias)), atol=1e-5)


_SUFFIX = "ForSequenceClassification"
_ROBERTAS = ("Roberta", "XLMRoberta", "Camembert")
KINDS = ("Bert", "DistilBert", *_ROBERTAS)  # which are one network with other names for its parts


def readable(model: Any) -> bool:
    """Return whether the model's answer depends on these weights alone."""
    name = type(model).__name__
    if not name.endswith(_SUFFIX) or name.removesuffix(_SUFFIX) not in KINDS:
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
        """Stack the maps of these modules, one below the other; the map of a single module is not copied."""
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


AnyAffine = Affine | ByteAffine | PrepackedAffine


def _is_gelu(active: Callable[[Tensor], Tensor]) -> bool:
    """Return whether an activation is exactly the error linear unit, not an approximation of it."""
    x = torch.linspace(-4, 4, 65)
    return torch.equal(active(x), F.gelu(x))


@dataclass(frozen=True, slots=True, eq=False)
class BertLayer:
    mixed: AnyAffine  # queries, keys and values in one product
    joined: AnyAffine
    up: AnyAffine
    down: AnyAffine
    inner: Norm
    outer: Norm
    active: Callable[[Tensor], Tensor]

    def after(self, x: Float[Tensor, "*rows dim"], seen: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Compute the rest of the layer from the output of its attention."""
        x = self.inner(self.joined(seen).add_(x))
        return self.outer(self.down(self.active(self.up(x))).add_(x))

    @property
    def maps(self) -> tuple[Affine, Affine, Affine, Affine]:
        """Return the four linear maps; the layer must be neither in bytes nor packed."""
        found = (self.mixed, self.joined, self.up, self.down)
        assert all(isinstance(part, Affine) for part in found)
        return found  # type: ignore[return-value]

    def to(self, dtype: torch.dtype) -> BertLayer:
        mixed, joined, up, down = (part.to(dtype) for part in self.maps)
        return BertLayer(mixed, joined, up, down, self.inner.to(dtype), self.outer.to(dtype), self.active)

    def in_bytes(self) -> BertLayer:
        mixed, joined, up, down = (ByteAffine.of(part.weight, part.bias) for part in self.maps)
        return BertLayer(mixed, joined, up, down, self.inner, self.outer, self.active)

    def prepacked(self) -> BertLayer:
        """Return the layer for a CPU that reads packed weights; see `can_prepack`."""
        fused = _is_gelu(self.active)
        mixed, joined, up, down = (
            PrepackedAffine.of(part.weight, part.bias, gelu=fused and part is self.up) for part in self.maps
        )
        return BertLayer(mixed, joined, up, down, self.inner, self.outer, torch.nn.Identity() if fused else self.active)

    @classmethod
    def of(cls, module: Any, *, dtype: torch.dtype) -> BertLayer:
        if hasattr(module, "sa_layer_norm"):
            return cls._of_distilled(module, dtype=dtype)
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

    @classmethod
    def _of_distilled(cls, module: Any, *, dtype: torch.dtype) -> BertLayer:
        """Read a layer of DistilBERT, which has other names for the same parts."""
        inside, wide = module.attention, module.ffn
        return cls(
            mixed=Affine.of(inside.q_lin, inside.k_lin, inside.v_lin, dtype=dtype),
            joined=Affine.of(inside.out_lin, dtype=dtype),
            up=Affine.of(wide.lin1, dtype=dtype),
            down=Affine.of(wide.lin2, dtype=dtype),
            inner=Norm.of(module.sa_layer_norm, dtype=dtype),
            outer=Norm.of(module.output_layer_norm, dtype=dtype),
            active=wide.activation,
        )


@dataclass(frozen=True, slots=True, eq=False)
class BertWeights:
    """The weights of a BERT: all layers but the last in `dtype`; those for one token a text in float32.

    The latter are `last`, `pool` and `head`.
    """

    words: Float[Tensor, "vocab dim"]
    places: Float[Tensor, "place dim"]  # as in the first segment; with `padding` the last row is that token's own
    second: Float[Tensor, " dim"]  # what the second segment adds
    norm: Norm
    layers: list[BertLayer]
    last: BertLayer
    pool: Affine
    squash: Callable[[Tensor], Tensor]  # what the head makes of the pooled vector
    head: Affine
    heads: int
    padding: int | None = None  # RoBERTa's, which counts no place where it stands

    @property
    def width(self) -> int:
        return self.words.shape[1]

    def in_bytes(self) -> BertWeights:
        """Return the weights with the products of all layers but the last in int8."""
        return replace(self, layers=[layer.in_bytes() for layer in self.layers])

    def prepacked(self) -> BertWeights:
        """Return a copy with the products of all layers but the last as a CPU's library reads them."""
        return replace(self, layers=[layer.prepacked() for layer in self.layers])

    def ended(self, x: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch label"]:
        return self.head(self.squash(self.pool(x)))

    def place(self, ids: Int[Tensor, "batch token"]) -> Int[Tensor, "batch token"]:
        """Return the row of `places` for each token."""
        if self.padding is None:
            return torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        counts = ids != self.padding
        return torch.where(counts, counts.cumsum(1) - 1, len(self.places) - 1)

    @classmethod
    @torch.no_grad()
    def of(cls, model: Any, *, dtype: torch.dtype) -> BertWeights:
        base, full = model.base_model, torch.float32
        read, kind = base.embeddings, type(model).__name__.removesuffix(_SUFFIX)
        *layers, last = (base.transformer if kind == "DistilBert" else base.encoder).layer
        first, second = _segments(read)
        places, padding = read.position_embeddings.weight.detach() + first, None
        if kind in _ROBERTAS:
            padding = int(read.padding_idx)
            places = torch.cat([places[padding + 1 :], places[padding : padding + 1]])
        pool, squash, head = _head(model, kind)
        return cls(
            words=read.word_embeddings.weight.detach().to(dtype),
            places=places.to(dtype),
            second=(second - first).to(dtype),
            norm=Norm.of(read.LayerNorm, dtype=dtype),
            layers=[BertLayer.of(layer, dtype=dtype) for layer in layers],
            last=BertLayer.of(last, dtype=full),
            pool=Affine.of(pool, dtype=full),
            squash=squash,
            head=Affine.of(head, dtype=full),
            heads=int(model.config.num_attention_heads),
            padding=padding,
        )


def _segments(read: Any) -> tuple[Float[Tensor, " dim"], Float[Tensor, " dim"]]:
    """Return the vectors that the first and the second segment add to a token; zeros for DistilBERT, which has none."""
    table = getattr(read, "token_type_embeddings", None)
    if table is None:
        nothing = torch.zeros_like(read.position_embeddings.weight[0])
        return nothing, nothing
    return table.weight[0].detach(), table.weight[min(1, len(table.weight) - 1)].detach()


def _head(model: Any, kind: str) -> tuple[Any, Callable[[Tensor], Tensor], Any]:
    """Return the two maps from the first token's vector to the logits, and the activation between them."""
    if kind == "DistilBert":
        return model.pre_classifier, torch.relu, model.classifier
    if kind in _ROBERTAS:
        return model.classifier.dense, torch.tanh, model.classifier.out_proj
    return model.bert.pooler.dense, torch.tanh, model.classifier
