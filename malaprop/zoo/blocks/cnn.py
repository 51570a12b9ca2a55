"""A CNN over words: windows of several widths, the strongest answer of each filter, one linear layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from malaprop.models.inside import Ids, Lengths, Vectors, Weights
from malaprop.models.padded_rows import strongest, within
from malaprop.zoo.blocks.classifier import fresh_words, no_attention


class WordCNN(nn.Module):
    """The CNN of Kim 2014; the maximum is over windows inside the text, so padding never changes a score.

    A text shorter than the widest window is read as if padding words filled it up. `depth` - 1 layers of three-word
    windows, as wide as the embedding and each added to what it reads, come before the windows that are pooled.
    `embedding` stands in for a table of word vectors.
    """

    attends = False

    def __init__(
        self,
        vocab: int,
        labels: int,
        *,
        dim: int = 100,
        filters: int = 100,
        widths: Sequence[int] = (3, 4, 5),
        depth: int = 1,
        dropout: float = 0.5,
        embedding: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.embedding = fresh_words(vocab, dim) if embedding is None else embedding
        self.below = nn.ModuleList(nn.Conv1d(dim, dim, 3, padding=1) for _ in range(depth - 1))
        self.convs = nn.ModuleList(nn.Conv1d(dim, filters, width) for width in widths)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(filters * len(widths), labels)
        self.least = max(widths)

    def forward(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:
        ids = self._settled(ids, lengths)
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
        return self._pool(self.embedding(self._settled(ids, lengths)), lengths)

    def states(self, ids: Ids, lengths: Lengths) -> tuple[Vectors, ...]:
        vectors = self.embedding(self._settled(ids, lengths))
        inside = within(lengths, vectors.shape[1])[..., None]
        return tuple(x * inside for x in (vectors, *(x.transpose(1, 2) for x in self._layers(vectors, lengths)[1:])))

    def attention(self, ids: Ids, lengths: Lengths) -> Weights:  # noqa: ARG002
        raise no_attention()

    def _settled(self, ids: Ids, lengths: Lengths) -> Ids:
        ids = functional.pad(ids, (0, max(0, self.least - ids.shape[1])))
        return ids * within(lengths, ids.shape[1])

    def _layers(self, vectors: Vectors, lengths: Lengths) -> list[Float[Tensor, "batch dim token"]]:
        inside = within(lengths, vectors.shape[1])[:, None]
        out = [self.dropout(vectors).transpose(1, 2) * inside]
        for layer in self.below:
            out.append((out[-1] + functional.relu(layer(out[-1]))) * inside)
        return out

    def _pool(self, vectors: Vectors, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        vectors = functional.pad(vectors, (0, 0, 0, max(0, self.least - vectors.shape[1])))
        x = self._layers(vectors, lengths)[-1]
        ends = lengths.clamp(min=self.least)
        return functional.relu(torch.cat([strongest(conv, x, ends) for conv in self.convs], 1))
