"""Attention of the Transformer, with what a decoder keeps between two steps."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.features.translation.models.network import SourceMemory


class Cache(NamedTuple):
    """Keys and values [batch, head, slot, dim / head]."""

    keys: Tensor
    values: Tensor

    def picked(self, rows: Int[Tensor, " batch"]) -> Cache:
        return Cache(self.keys[rows], self.values[rows])


class CrossAttention(nn.Module):
    """Vaswani et al. 2017, several heads."""

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
        """Mean over heads of how much each step takes from each slot."""
        asked = self._split(self.query(queries))
        fit = asked @ cache.keys.transpose(2, 3) / asked.shape[-1] ** 0.5
        mean: Tensor = fit.masked_fill(~inside[:, None, None, :], -torch.inf).softmax(-1).mean(1)
        return mean

    def _split(self, states: Tensor) -> Tensor:
        return states.view(*states.shape[:-1], self.heads, -1).transpose(1, 2)


class TranslatorLayer(nn.Module):
    """Norm before each part; the encoder's layer looks at its own row, the decoder's at the source as well."""

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
        """The encoder's way."""
        normed = self.own_norm(x)
        x = x + self.drop(self.own(normed, self.own.cache(normed), inside))
        out: Tensor = x + self.drop(self.inner(x))
        return out

    def write(
        self, x: Float[Tensor, "batch step dim"], memory: SourceMemory, source: Cache, before: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        """The decoder's way: whole rows, or with what was `before` the one next step."""
        x, own = self._own(x, before)
        assert self.source is not None
        x = x + self.drop(self.source(self._asking(x), source, memory.inside))
        return x + self.drop(self.inner(x)), own

    def watched(
        self, x: Float[Tensor, "batch step dim"], memory: SourceMemory, source: Cache
    ) -> tuple[Tensor, Cache, Float[Tensor, "batch step slot"]]:
        """As `write`, with where it looks in the source."""
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
