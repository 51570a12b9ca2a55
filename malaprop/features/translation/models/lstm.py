"""An LSTM with attention: a two-layer bidirectional encoder, and a decoder that looks at it between its two layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from malaprop.core.errors import SettingError
from malaprop.features.translation.models.decoding import SourceMemory
from malaprop.features.translation.models.subwords import PAD


@dataclass(frozen=True, slots=True, kw_only=True)
class LstmShape:
    """The sizes; `units` are those of the encoder's two directions together, and of each layer of the decoder."""

    dim: int = 256
    units: int = 512
    dropout: float = 0.4
    limit: int = 200  # pieces of a source or a target

    def __post_init__(self) -> None:
        if min(self.dim, self.units) < 1 or self.units % 2 or self.limit < 4 or not 0 <= self.dropout < 1:
            raise SettingError(f"dim and units must be above 0, units even, limit 4 or more, dropout below 1: {self}")


class LstmState(NamedTuple):
    """The decoder's state: hidden and cell states of both layers, and the source with its attention keys."""

    memory: SourceMemory
    keys: Tensor
    layers: tuple[Tensor, Tensor, Tensor, Tensor]


class Lstm(nn.Module):
    """An LSTM translator with general attention (Luong et al. 2015).

    Differs: the first layer's state is the query, and the attended source enters the second layer instead of the next
    step's input, so that training reads whole rows at a time.
    """

    half_precision = False  # cuDNN would compute in fp16 instead of bf16

    def __init__(self, vocab: int, shape: LstmShape) -> None:
        super().__init__()
        self.shape = shape
        dim, units = shape.dim, shape.units
        self.embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)
        self.encoder = nn.LSTM(
            dim, units // 2, num_layers=2, bidirectional=True, batch_first=True, dropout=shape.dropout
        )
        self.first = nn.LSTM(dim, units, batch_first=True)
        self.second = nn.LSTM(2 * units, units, batch_first=True)
        self.bridge = nn.Linear(units, 4 * units)
        self.keys = nn.Linear(units, units, bias=False)
        self.mix = nn.Sequential(nn.Linear(2 * units, dim), nn.LayerNorm(dim))  # as wide as logits need to be
        self.bias = nn.Parameter(torch.zeros(vocab))
        self.drop = nn.Dropout(shape.dropout)

    def encode(
        self,
        ids: Int[Tensor, "batch slot"],
        lengths: Int[Tensor, " batch"],
        blank: Bool[Tensor, "batch slot"] | None = None,
    ) -> SourceMemory:
        vectors = self._embedded(ids)
        if blank is not None:
            vectors = vectors.masked_fill(blank[..., None], 0.0)
        packed = pack_padded_sequence(vectors, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True, total_length=ids.shape[1])
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths.to(ids.device)[:, None]
        return SourceMemory(states, inside)

    def decode(self, memory: SourceMemory, before: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step vocab"]:
        return self._run(self.start(memory), before)[0]

    def start(self, memory: SourceMemory) -> LstmState:
        count = memory.inside.sum(1, keepdim=True).to(memory.states.dtype)
        mean = (memory.states * memory.inside[..., None]).sum(1) / count
        one, two, three, four = (part.contiguous()[None] for part in self.bridge(mean).tanh().chunk(4, -1))
        return LstmState(memory, self.keys(memory.states), (one, two, three, four))

    def step(self, state: LstmState, last: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocab"], LstmState]:
        logits, state = self._run(state, last[:, None])
        return logits[:, 0], state

    def reorder(self, state: LstmState, rows: Int[Tensor, " batch"]) -> LstmState:
        one, two, three, four = (part[:, rows] for part in state.layers)
        return state._replace(layers=(one, two, three, four))

    def _run(
        self, state: LstmState, ids: Int[Tensor, "batch step"]
    ) -> tuple[Float[Tensor, "batch step vocab"], LstmState]:
        hidden, cell, hidden2, cell2 = state.layers
        low, (hidden, cell) = self.first(self._embedded(ids), (hidden, cell))
        found = self._look(low, state)
        high, (hidden2, cell2) = self.second(self.drop(torch.cat([low, found], -1)), (hidden2, cell2))
        mixed = self.drop(self.mix(self.drop(torch.cat([high, found], -1))))
        logits = functional.linear(mixed, self.embedding.weight, self.bias)
        return logits, state._replace(layers=(hidden, cell, hidden2, cell2))

    def attention(self, memory: SourceMemory, before: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step slot"]:
        """Return the attention of each step on the source."""
        state = self.start(memory)
        return self._weights(self.first(self._embedded(before), state.layers[:2])[0], state)

    def _look(self, queries: Float[Tensor, "batch step dim"], state: LstmState) -> Float[Tensor, "batch step dim"]:
        return self._weights(queries, state) @ state.memory.states

    def _weights(self, queries: Float[Tensor, "batch step dim"], state: LstmState) -> Float[Tensor, "batch step slot"]:
        fit = queries @ state.keys.transpose(1, 2)
        return fit.masked_fill(~state.memory.inside[:, None], -torch.inf).softmax(-1)

    def _embedded(self, ids: Tensor) -> Tensor:
        out: Tensor = self.drop(self.embedding(ids) * self.shape.dim**0.5)
        return out
