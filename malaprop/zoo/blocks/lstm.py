"""An LSTM over words: one or both directions, the maximum over time, one linear layer."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.models.inside import Ids, Lengths, Vectors, Weights
from malaprop.models.padded_rows import fill_empty_rows, largest, recur, within
from malaprop.models.tokens.vocab import UNK
from malaprop.zoo.blocks.classifier import fresh_words, no_attention


class WordLSTM(nn.Module):
    """An LSTM classifier; each direction runs within a text's own length, so padding never changes a score.

    A text without a token is read as one unknown word. `embedding` stands in for a table of word vectors. Layers above
    the first add to what they read, without which four of them hardly learn.
    """

    attends = False

    def __init__(
        self,
        vocab: int,
        labels: int,
        *,
        dim: int = 100,
        hidden: int = 150,
        depth: int = 1,
        both: bool = False,
        dropout: float = 0.5,
        embedding: nn.Module | None = None,
    ) -> None:
        super().__init__()
        width = hidden * (2 if both else 1)
        self.embedding = fresh_words(vocab, dim) if embedding is None else embedding
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=both)
        self.above = nn.ModuleList(
            nn.LSTM(width, hidden, batch_first=True, bidirectional=both) for _ in range(depth - 1)
        )
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, labels)

    def forward(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:
        ids, lengths = self._settled(ids, lengths)
        return self.from_vectors(self.embedding(ids), ids, lengths)

    def from_vectors(
        self,
        vectors: Vectors,
        ids: Ids,  # noqa: ARG002
        lengths: Lengths,
    ) -> Float[Tensor, "batch label"]:
        logits: Tensor = self.head(self.dropout(self._pool(vectors, lengths)))
        return logits

    def pooled(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        ids, lengths = self._settled(ids, lengths)
        return self._pool(self.embedding(ids), lengths)

    def states(self, ids: Ids, lengths: Lengths) -> tuple[Vectors, ...]:
        ids, lengths = self._settled(ids, lengths)
        vectors = self.embedding(ids)
        inside = within(lengths, ids.shape[1])[..., None]
        return tuple(x * inside for x in (vectors, *self._layers(vectors, lengths)))

    def attention(self, ids: Ids, lengths: Lengths) -> Weights:  # noqa: ARG002
        raise no_attention()

    def _settled(self, ids: Ids, lengths: Lengths) -> tuple[Ids, Lengths]:
        ids, lengths = fill_empty_rows(ids, lengths, UNK)
        return ids * within(lengths, ids.shape[1]), lengths

    def _pool(self, vectors: Vectors, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        return largest(self._layers(vectors, lengths)[-1], lengths)

    def _layers(self, vectors: Vectors, lengths: Lengths) -> list[Vectors]:
        """Return the states of each layer, in 32 bits: in autocast's fp16 the gradients of LSTMs vanish."""
        with torch.autocast(vectors.device.type, enabled=False):
            ends = lengths.cpu()
            out = [recur(self.lstm, self.dropout(vectors.float()), ends)]
            for layer in self.above:
                assert isinstance(layer, nn.LSTM)
                out.append(out[-1] + recur(layer, self.dropout(out[-1]), ends))
        return out
