"""The Transformer of Vaswani et al. 2017 for translation, small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.features.translation.models.attention import Cache, TranslatorLayer
from malaprop.features.translation.models.network import SourceMemory
from malaprop.features.translation.models.subwords import PAD


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShape:
    """Sizes; one table of vectors serves source, target and output."""

    dim: int = 256
    heads: int = 4
    inner: int = 512
    layers: int = 4
    dropout: float = 0.3
    limit: int = 200  # pieces of a source or a target

    def __post_init__(self) -> None:
        if min(self.dim, self.heads, self.inner, self.layers) < 1 or self.limit < 4 or not 0 <= self.dropout < 1:
            raise SettingError(f"sizes must be above 0, limit 4 or more and dropout below 1, got {self}")
        if self.dim % (2 * self.heads):
            raise SettingError(f"dim must be a multiple of twice the heads, got {self.dim} and {self.heads}")


class TransformerState(NamedTuple):
    """What a decoder keeps: for each layer its own keys and values, and those of the source."""

    memory: SourceMemory
    source: tuple[Cache, ...]
    own: tuple[Cache, ...]  # none before the first step


class Transformer(nn.Module):
    """Norms first, sinusoids for places; differs from the paper's base model in size and in where the norms stand."""

    half_precision = True  # on a GPU it learns in bf16

    def __init__(self, vocab: int, shape: TransformerShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(vocab, shape.dim, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=shape.dim**-0.5)
        sizes = (shape.dim, shape.heads, shape.inner, shape.dropout)
        self.encoder = nn.ModuleList(TranslatorLayer(*sizes, decoder=False) for _ in range(shape.layers))
        self.decoder = nn.ModuleList(TranslatorLayer(*sizes, decoder=True) for _ in range(shape.layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(shape.dim), nn.LayerNorm(shape.dim)
        self.drop = nn.Dropout(shape.dropout)
        self.register_buffer("places", _sinusoids(2 * shape.limit + 16, shape.dim), persistent=False)

    def encode(
        self,
        ids: Int[Tensor, "batch slot"],
        lengths: Int[Tensor, " batch"],
        blank: Bool[Tensor, "batch slot"] | None = None,
    ) -> SourceMemory:
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths.to(ids.device)[:, None]
        x = self._embedded(ids, 0, blank)
        for layer in self.encoder:
            assert isinstance(layer, TranslatorLayer)
            x = layer.read(x, inside)
        return SourceMemory(self.encoder_norm(x), inside)

    def decode(self, memory: SourceMemory, before: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step vocab"]:
        x = self._embedded(before, 0)
        for layer, source in zip(self.decoder, self.start(memory).source, strict=True):
            assert isinstance(layer, TranslatorLayer)
            x, _ = layer.write(x, memory, source)
        return self._logits(x)

    def attention(self, memory: SourceMemory, before: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step slot"]:
        """Where each step looks: mean over layers and heads."""
        x, looks = self._embedded(before, 0), []
        for layer, source in zip(self.decoder, self.start(memory).source, strict=True):
            assert isinstance(layer, TranslatorLayer)
            x, _, look = layer.watched(x, memory, source)
            looks.append(look)
        return torch.stack(looks).mean(0)

    def start(self, memory: SourceMemory) -> TransformerState:
        found = [layer.source.cache(memory.states) for layer in self.decoder]  # type: ignore[operator, union-attr]
        return TransformerState(memory, tuple(found), ())

    def step(
        self, state: TransformerState, last: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocab"], TransformerState]:
        place = state.own[0].keys.shape[2] if state.own else 0
        x = self._embedded(last[:, None], place)
        kept: list[Cache] = []
        for number, layer in enumerate(self.decoder):
            assert isinstance(layer, TranslatorLayer)
            before = state.own[number] if state.own else None
            x, own = layer.write(x, state.memory, state.source[number], before)
            kept.append(own)
        return self._logits(x)[:, 0], state._replace(own=tuple(kept))

    def reorder(self, state: TransformerState, rows: Int[Tensor, " batch"]) -> TransformerState:
        return state._replace(own=tuple(cache.picked(rows) for cache in state.own))

    def _embedded(self, ids: Tensor, place: int, blank: Tensor | None = None) -> Tensor:
        vectors = self.embedding(ids) * math.sqrt(self.shape.dim)
        if blank is not None:
            vectors = vectors.masked_fill(blank[..., None], 0.0)
        places: Tensor = self.places[place : place + ids.shape[1]]  # type: ignore[index]
        out: Tensor = self.drop(vectors + places)
        return out

    def _logits(self, x: Tensor) -> Tensor:
        return functional.linear(self.decoder_norm(x), self.embedding.weight)


def _sinusoids(places: int, dim: int) -> Float[Tensor, "place dim"]:
    angles = torch.arange(places)[:, None] * torch.exp(torch.arange(0, dim, 2) * (-math.log(10_000.0) / dim))
    return torch.cat([angles.sin(), angles.cos()], 1)
