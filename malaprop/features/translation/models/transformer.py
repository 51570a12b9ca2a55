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
from malaprop.features.translation.models.decoding import SourceMemory
from malaprop.features.translation.models.subwords import PAD


class Cache(NamedTuple):
    """Attention keys and values [batch, head, slot, dim / head]."""

    keys: Tensor
    values: Tensor

    def picked(self, rows: Int[Tensor, " batch"]) -> Cache:
        return Cache(self.keys[rows], self.values[rows])


class CrossAttention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017)."""

    def __init__(self, dim: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.pair, self.out = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)
        for layer in (self.query, self.pair, self.out):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def cache(self, states: Float[Tensor, "batch slot dim"]) -> Cache:
        keys, values = self.pair(states).chunk(2, -1)
        return Cache(self._split(keys), self._split(values))

    def forward(
        self,
        queries: Float[Tensor, "batch step dim"],
        cache: Cache,
        inside: Bool[Tensor, "batch slot"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch step dim"]:
        mask = None if inside is None else inside[:, None, None, :]
        drop = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            self._split(self.query(queries)), cache.keys, cache.values, mask, drop, is_causal=causal
        )
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out

    def weights(
        self, queries: Float[Tensor, "batch step dim"], cache: Cache, inside: Bool[Tensor, "batch slot"]
    ) -> Float[Tensor, "batch step slot"]:
        """Return the attention of each step on each slot, mean over heads."""
        asked = self._split(self.query(queries))
        fit = asked @ cache.keys.transpose(2, 3) / asked.shape[-1] ** 0.5
        mean: Tensor = fit.masked_fill(~inside[:, None, None, :], -torch.inf).softmax(-1).mean(1)
        return mean

    def _split(self, states: Tensor) -> Tensor:
        return states.view(*states.shape[:-1], self.heads, -1).transpose(1, 2)


class TranslatorLayer(nn.Module):
    """A layer with normalisation before each part. Both read their own row, the decoder's the source too."""

    def __init__(self, dim: int, heads: int, inner: int, dropout: float, *, decoder: bool) -> None:
        super().__init__()
        self.own, self.own_norm = CrossAttention(dim, heads, dropout), nn.LayerNorm(dim)
        self.source = CrossAttention(dim, heads, dropout) if decoder else None
        self.source_norm = nn.LayerNorm(dim) if decoder else None
        self.inner = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, inner), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inner, dim)
        )
        self.drop = nn.Dropout(dropout)

    def read(self, x: Float[Tensor, "batch slot dim"], inside: Bool[Tensor, "batch slot"]) -> Tensor:
        """Run the layer in the encoder."""
        normed = self.own_norm(x)
        x = x + self.drop(self.own(normed, self.own.cache(normed), inside))
        out: Tensor = x + self.drop(self.inner(x))
        return out

    def write(
        self, x: Float[Tensor, "batch step dim"], memory: SourceMemory, source: Cache, before: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        """Run the layer in the decoder: on whole rows, or with the cache `before` on the one next step."""
        x, own = self._own(x, before)
        assert self.source is not None
        x = x + self.drop(self.source(self._asking(x), source, memory.inside))
        return x + self.drop(self.inner(x)), own

    def watched(
        self, x: Float[Tensor, "batch step dim"], memory: SourceMemory, source: Cache
    ) -> tuple[Tensor, Cache, Float[Tensor, "batch step slot"]]:
        """Run the layer as `write` does, and return its attention on the source too."""
        out, own = self.write(x, memory, source)
        assert self.source is not None
        return out, own, self.source.weights(self._asking(self._own(x, None)[0]), source, memory.inside)

    def _own(self, x: Tensor, before: Cache | None) -> tuple[Tensor, Cache]:
        normed = self.own_norm(x)
        own = self.own.cache(normed)
        if before is not None:
            own = Cache(torch.cat([before.keys, own.keys], 2), torch.cat([before.values, own.values], 2))
        return x + self.drop(self.own(normed, own, causal=before is None and x.shape[1] > 1)), own

    def _asking(self, x: Tensor) -> Tensor:
        assert self.source_norm is not None
        out: Tensor = self.source_norm(x)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShape:
    """The sizes; one table of vectors serves source, target and output."""

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
    """The decoder's state: for each layer the keys and values of the output so far, and those of the source."""

    memory: SourceMemory
    source: tuple[Cache, ...]
    own: tuple[Cache, ...]  # none before the first step


class Transformer(nn.Module):
    """A Transformer translator with normalisation first and sinusoidal positions.

    Differs from the paper's base model in its size and in the place of the normalisation.
    """

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
        """Return the attention of each step on the source, mean over layers and heads."""
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
