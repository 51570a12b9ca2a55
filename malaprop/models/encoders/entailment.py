"""The encoder that the judge of meaning reads with: a DeBERTa whose first token's vector is all that is wanted.

It computes what the transformers library does (He et al. 2021: disentangled attention), to rounding, with three
savings: distances that no two tokens have are left out, the last layer is computed for the first token alone, and a
CPU's library gets the weights of its products in the order in which it reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from malaprop.models.scorers.bertweights import Affine, Norm, PrepackedAffine, can_prepack

_TERMS = 3  # of a score: content with content, content with distance, distance with content


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The weights of a layer; `keys` and `queries` are those of distances between tokens, scaled as scores are."""

    mixed: Affine | PrepackedAffine  # queries, keys and values in one product
    joined: Affine | PrepackedAffine
    up: Affine | PrepackedAffine
    down: Affine | PrepackedAffine
    inner: Norm
    outer: Norm
    keys: Float[Tensor, "head place part"]
    queries: Float[Tensor, "head place part"]

    @classmethod
    def of(cls, module: Any, places: Float[Tensor, "place dim"], *, packed: bool) -> Layer:
        inside, outside, full = module.attention.self, module.attention.output, torch.float32
        heads = int(inside.num_attention_heads)
        query, key = inside.query_proj, inside.key_proj
        keys, queries = (part(places).view(len(places), heads, -1).transpose(0, 1) for part in (key, query))
        scale = (_TERMS * keys.shape[-1]) ** -0.5

        def read(*modules: Any) -> Affine | PrepackedAffine:
            made = Affine.of(*modules, dtype=full)
            return PrepackedAffine.of(made.weight, made.bias) if packed else made

        return cls(
            mixed=read(query, key, inside.value_proj), joined=read(outside.dense),
            up=read(module.intermediate.dense), down=read(module.output.dense),
            inner=Norm.of(outside.LayerNorm, dtype=full), outer=Norm.of(module.output.LayerNorm, dtype=full),
            keys=(keys * scale).detach().contiguous(), queries=(queries * scale).detach().contiguous(),
        )  # fmt: skip

    def split(self, x: Float[Tensor, "batch token dim"]) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values [batch, head, token, part]."""
        made = self.mixed(x).view(*x.shape[:2], 3, len(self.keys), -1).permute(2, 0, 3, 1, 4)
        return made[0], made[1], made[2]

    def after(self, x: Float[Tensor, "*rows dim"], seen: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Compute the rest of the layer from the output of its attention."""
        x = self.inner(self.joined(seen).add_(x))
        return self.outer(self.down(F.gelu(self.up(x))).add_(x))


@dataclass(frozen=True, slots=True, eq=False)
class Entailment:
    """A DeBERTa of the second or third version that shares its keys and queries between words and distances."""

    words: Float[Tensor, "vocab dim"]
    norm: Norm
    layers: tuple[Layer, ...]
    last: Layer
    buckets: int
    span: int  # the distance from which on all are alike

    @property
    def dim(self) -> int:
        return self.words.shape[1]

    @classmethod
    @torch.no_grad()
    def of(cls, model: Any) -> Entailment:
        """Read the weights of a transformers DebertaV2Model, which must be of this kind."""
        held = model.config
        span = held.max_relative_positions if held.max_relative_positions > 0 else held.max_position_embeddings
        places = model.encoder.get_rel_embedding()
        packed = model.device.type == "cpu" and can_prepack()
        layers = [Layer.of(layer, places, packed=packed) for layer in model.encoder.layer]
        words = model.embeddings
        return cls(
            words=words.word_embeddings.weight.detach(), norm=Norm.of(words.LayerNorm, dtype=torch.float32),
            layers=tuple(layers[:-1]), last=layers[-1], buckets=int(held.position_buckets), span=int(span),
        )  # fmt: skip

    def first(self, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch dim"]:
        """Return the last state of each row's first token; 0 is padding."""
        many = ids.shape[1]
        inside = ids != 0
        padded: Bool[Tensor, "batch 1 1 token"] | None = None if bool(inside.all()) else ~inside[:, None, None]
        x = self.norm(F.embedding(ids, self.words))
        x = x if padded is None else x * inside[..., None]
        apart = self._places(torch.arange(many - 1, -many, -1, device=ids.device))
        for layer in self.layers:
            q, k, v = layer.split(x)
            bias = _shift(q @ layer.keys[:, apart].mT) + _shift(k @ layer.queries[:, apart.flip(0)].mT).mT
            x = layer.after(x, self._attend(q, k, v, bias, padded))
        layer, behind = self.last, apart[many - 1 :]  # distances of the first token to each
        q, k, v = layer.split(x)
        q = q[:, :, :1]
        bias = q @ layer.keys[:, behind].mT + (k * layer.queries[:, behind]).sum(-1)[:, :, None]
        return layer.after(x[:, 0], self._attend(q, k, v, bias, padded)[:, 0])

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, padded: Tensor | None) -> Tensor:
        bias = bias if padded is None else bias.masked_fill_(padded, torch.finfo(bias.dtype).min)
        scale = (_TERMS * q.shape[-1]) ** -0.5
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)
        return seen.transpose(1, 2).flatten(2)

    def _places(self, apart: Int[Tensor, " distance"]) -> Int[Tensor, " distance"]:
        """Return the row of the tables for each distance: large ones share rows, the more the larger."""
        half = self.buckets // 2
        far = apart.abs().clamp(min=half).float()
        steps = torch.ceil(torch.log(far / half) / torch.log(torch.tensor((self.span - 1) / half)) * (half - 1)) + half
        found = torch.where(apart.abs() <= half, apart, steps.long() * apart.sign())
        return (found + self.buckets).clamp(0, 2 * self.buckets - 1)


def _shift(table: Float[Tensor, "batch head token distance"]) -> Float[Tensor, "batch head token other"]:
    """Return a view of scores by distance as scores by token: row i holds, from i places earlier on, token 0, 1, ..."""
    batch, heads, many, wide = table.shape
    table = table.contiguous()
    return table.as_strided((batch, heads, many, many), (heads * many * wide, many * wide, wide - 1, 1), many - 1)
