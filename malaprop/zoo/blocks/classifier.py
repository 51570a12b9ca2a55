"""Classifier: word vectors, an encoder that makes one vector of a text, and a head."""

from __future__ import annotations

from typing import Protocol, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.core.errors import CapabilityError
from malaprop.models.inside import Ids, Lengths, Vectors, Weights
from malaprop.models.padded_rows import fill_empty_rows, within
from malaprop.models.tokens.vocab import PAD, UNK


def no_attention() -> CapabilityError:
    return CapabilityError("this network has no attention to show; use one that attends, as BiLSTM-Attention")


class Encoder(Protocol):
    """Reads texts of at least one token; tokens beyond a text's length must not change its result."""

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:
        """Return the states after each layer, from below; beyond a text's length they mean nothing."""
        ...

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]: ...


class Attending(Encoder, Protocol):
    def attention(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Weights: ...


def fresh_words(vocab: int, dim: int, spread: float = 0.1) -> nn.Embedding:
    """Return random vectors, short ones so that words seen once say little; padding is zero."""
    words = nn.Embedding(vocab, dim, padding_idx=PAD)
    with torch.no_grad():
        words.weight.normal_(0, spread)[PAD] = 0
    return words


class Classifier(nn.Module):
    """One network of `malaprop.zoo.special_models`, as `models.inside.InsightNetwork` describes it.

    `encoder` is a module that does what `Encoder` says, or with `attends` what `Attending` says. An empty text is read
    as one token `empty`.
    """

    def __init__(
        self,
        embedding: nn.Module,
        encoder: nn.Module,
        head: nn.Module,
        *,
        attends: bool = False,
        dropout: float = 0.0,
        empty: int = UNK,
    ) -> None:
        super().__init__()
        self.embedding, self.encoder, self.head = embedding, encoder, head
        self.dropout = nn.Dropout(dropout)
        self.attends, self.empty = attends, empty

    @property
    def reader(self) -> Encoder:
        """Return the encoder by its protocol: torch knows submodules as plain modules."""
        return cast(Encoder, self.encoder)

    def forward(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:
        ids, lengths = fill_empty_rows(ids, lengths, self.empty)
        return self.from_vectors(self.embedding(ids), ids, lengths)

    def from_vectors(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:
        logits: Tensor = self.head(self.dropout(self.reader.pool(vectors, ids, lengths)))
        return logits

    def pooled(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        ids, lengths = fill_empty_rows(ids, lengths, self.empty)
        return self.reader.pool(self.embedding(ids), ids, lengths)

    def states(self, ids: Ids, lengths: Lengths) -> tuple[Vectors, ...]:
        ids, lengths = fill_empty_rows(ids, lengths, self.empty)
        inside = within(lengths, ids.shape[1])[..., None]
        vectors = self.embedding(ids)
        return tuple(x * inside for x in (vectors, *self.reader.layers(vectors, ids, lengths)))

    def attention(self, ids: Ids, lengths: Lengths) -> Weights:
        if not self.attends:
            raise no_attention()
        ids, lengths = fill_empty_rows(ids, lengths, self.empty)
        weights = cast(Attending, self.encoder).attention(self.embedding(ids), ids, lengths)
        inside = within(lengths, ids.shape[1])
        return weights if weights.shape[3] == 1 else weights * inside[:, None, :, None]
