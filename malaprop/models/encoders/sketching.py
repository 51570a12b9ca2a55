"""Sketch: a BERT encoder's sentence vectors in fewer bits, for choices that a plain vector need not settle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from malaprop.models.scorers.bertweights import BertLayer, Norm
from malaprop.models.scorers.prepacked import can_prepack


def worthwhile(device: torch.device) -> bool:
    """Whether the processor multiplies bf16 numbers faster than fp32 ones."""
    if device.type != "cpu":
        return False
    known: list[Any] = [getattr(torch.cpu, f"_is_{kind}_supported", None) for kind in ("avx512_bf16", "amx_tile")]
    return any(asked is not None and asked() for asked in known)


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """The layers in bf16; embeddings, their norm and the mean over the tokens in fp32, where the error would begin."""

    words: Float[Tensor, "vocab dim"]
    places: Float[Tensor, "place dim"]
    norm: Norm
    layers: list[BertLayer]
    heads: int

    @classmethod
    def of(cls, model: Any) -> Sketch:
        """Of a transformers BertModel."""
        read = model.embeddings
        layers = [BertLayer.of(layer, dtype=torch.bfloat16) for layer in model.encoder.layer]
        return cls(
            words=read.word_embeddings.weight.detach(),
            places=(read.position_embeddings.weight + read.token_type_embeddings.weight[0]).detach(),
            norm=Norm.of(read.LayerNorm, dtype=torch.float32),
            layers=[layer.prepacked() for layer in layers] if can_prepack() else layers,
            heads=int(model.config.num_attention_heads),
        )

    def states(
        self, ids: Int[Tensor, "batch token"], inside: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token dim"]:
        """The last states; those of padding mean nothing."""
        mask = None if bool(inside.all()) else inside[:, None, None]
        x = self.norm(F.embedding(ids, self.words) + self.places[: ids.shape[1]]).bfloat16()
        for layer in self.layers:
            q, k, v = layer.mixed(x).view(*ids.shape, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = layer.after(x, seen.transpose(1, 2).flatten(2))
        return x.float()
