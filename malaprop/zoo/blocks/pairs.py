"""Pair models: each side read by the same encoder, then compared."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.models.inside.network import Ids, Lengths, Vectors
from malaprop.models.padded_rows import largest, mean, recur
from malaprop.zoo.blocks.classifier import Classifier, fresh_words
from malaprop.zoo.blocks.sides import PairSide, sides

SPREAD = 0.5  # about GloVe's: shorter vectors are too alike to be compared


def compare_sides(a: Float[Tensor, "batch dim"], b: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch dims"]:
    """Both, how far they lie apart, and where they agree."""
    return torch.cat([a, b, (a - b).abs(), a * b], -1)


def judge(dim: int, hidden: int, labels: int, dropout: float) -> nn.Module:
    return nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Dropout(dropout), nn.Linear(hidden, labels))


def join_sides(both: tuple[PairSide, PairSide], states: Sequence[Vectors], width: int) -> Vectors:
    """The states of both sides as states of the row."""
    first, second = (side.back(x, width) for side, x in zip(both, states, strict=True))
    return first + second


class Average(nn.Module):
    """The mean word vectors of both sides."""

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:  # noqa: ARG002
        return []

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        a, b = (mean(side.of(vectors), side.lengths) for side in sides(ids, lengths))
        return compare_sides(a, b)


class Siamese(nn.Module):
    """One bidirectional LSTM for both sides, and the largest of its states."""

    def __init__(self, dim: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(dropout)

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:
        both = sides(ids, lengths)
        return [join_sides(both, [self._read(side, vectors) for side in both], ids.shape[1])]

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        a, b = (largest(self._read(side, vectors), side.lengths) for side in sides(ids, lengths))
        return compare_sides(a, b)

    def _read(self, side: PairSide, vectors: Vectors) -> Vectors:
        return recur(self.lstm, self.dropout(side.of(vectors)), side.lengths)


def pair_average(vocab: int, labels: int, *, dim: int = 100, hidden: int = 200, dropout: float = 0.2) -> Classifier:
    """The embedding classifier of Zhao et al. 2018 (Generating Natural Adversarial Examples), section 3.2.

    Differs: the averages are also subtracted and multiplied, as Conneau et al. 2017 do, and the layer on top of them is
    a hidden one, since a linear layer on two averages side by side cannot compare them.
    """
    embedding = fresh_words(vocab, dim, SPREAD)
    return Classifier(embedding, Average(), judge(4 * dim, hidden, labels, dropout), dropout=dropout)


def pair_lstm(
    vocab: int, labels: int, *, dim: int = 100, hidden: int = 150, inner: int = 200, dropout: float = 0.3
) -> Classifier:
    """The LSTM classifier of Zhao et al. 2018, section 3.2: a layer on the sentences' representations.

    Differs: both directions, the maximum over time, and representations compared as in `pair_average`; the paper gives
    no sizes.
    """
    embedding, head = fresh_words(vocab, dim, SPREAD), judge(8 * hidden, inner, labels, dropout)
    return Classifier(embedding, Siamese(dim, hidden, dropout), head, dropout=dropout)
