"""Networks for pairs of texts: both sides read by one encoder and compared, or aligned word by word (ESIM)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.models.inside import Ids, Lengths, Vectors
from malaprop.models.padded_rows import largest, mean, recur, within
from malaprop.models.tokens.vocab import SEP
from malaprop.zoo.blocks.classifier import Classifier, fresh_words


class PairSide(NamedTuple):
    """The columns of the row that hold this side's tokens; one past the last column stands for no token.

    An empty side has one token that is nothing.
    """

    columns: Int[Tensor, "batch some"]
    lengths: Int[Tensor, " batch"]

    def of(self, vectors: Float[Tensor, "batch token dim"]) -> Float[Tensor, "batch some dim"]:
        return functional.pad(vectors, (0, 0, 0, 1)).gather(1, self._index(vectors.shape[2]))

    def back(self, states: Float[Tensor, "batch some dim"], width: int) -> Float[Tensor, "batch token dim"]:
        """Return this side's vectors where its tokens stand in the row, zeros elsewhere."""
        room = states.new_zeros(len(states), width + 1, states.shape[2])
        return room.scatter(1, self._index(states.shape[2]), states)[:, :width]

    def _index(self, dim: int) -> Int[Tensor, "batch some dim"]:
        return self.columns[..., None].expand(-1, -1, dim)


def sides(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> tuple[PairSide, PairSide]:
    """Split rows into the sides before and behind the first separator; without one the second side is empty."""
    width = ids.shape[1]
    inside = within(lengths, width)
    before = (((ids == SEP) & inside).cumsum(1) == 0) & inside
    first = before.sum(1)
    second = (lengths - first - 1).clamp(min=0)
    return _side(torch.zeros_like(first), first, width), _side(first + 1, second, width)


def _side(begin: Int[Tensor, " batch"], sizes: Int[Tensor, " batch"], width: int) -> PairSide:
    most = max(1, int(sizes.max())) if len(sizes) else 1
    place = torch.arange(most, device=sizes.device)
    return PairSide(torch.where(place < sizes[:, None], begin[:, None] + place, width), sizes.clamp(min=1))


SPREAD = 0.5  # about GloVe's: shorter vectors are too alike to be compared


def compare_sides(a: Float[Tensor, "batch dim"], b: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch dims"]:
    """Join both vectors, their absolute difference and their product."""
    return torch.cat([a, b, (a - b).abs(), a * b], -1)


def judge(dim: int, hidden: int, labels: int, dropout: float) -> nn.Module:
    return nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Dropout(dropout), nn.Linear(hidden, labels))


def join_sides(both: tuple[PairSide, PairSide], states: Sequence[Vectors], width: int) -> Vectors:
    """Return the states of both sides as states of the row."""
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
    """Reads both sides by one bidirectional LSTM, and takes the maximum of its states."""

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
    """Build the embedding classifier of Zhao et al. 2018 (Generating Natural Adversarial Examples), section 3.2.

    Differs: the averages are also subtracted and multiplied, as Conneau et al. 2017 do, and the layer on top of them is
    a hidden one, since a linear layer on two averages side by side cannot compare them.
    """
    embedding = fresh_words(vocab, dim, SPREAD)
    return Classifier(embedding, Average(), judge(4 * dim, hidden, labels, dropout), dropout=dropout)


def pair_lstm(
    vocab: int, labels: int, *, dim: int = 100, hidden: int = 150, inner: int = 200, dropout: float = 0.3
) -> Classifier:
    """Build the LSTM classifier of Zhao et al. 2018, section 3.2: a layer on the sentences' representations.

    Differs: both directions, the maximum over time, and representations compared as in `pair_average`; the paper gives
    no sizes.
    """
    embedding, head = fresh_words(vocab, dim, SPREAD), judge(8 * hidden, inner, labels, dropout)
    return Classifier(embedding, Siamese(dim, hidden, dropout), head, dropout=dropout)


class Inference(nn.Module):
    """ESIM: encoding, local inference from soft alignment, composition, pooling (Chen et al. 2017, section 3)."""

    def __init__(self, dim: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.encode = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.project = nn.Linear(8 * hidden, hidden)
        self.compose = nn.LSTM(hidden, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(dropout)

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:
        both = sides(ids, lengths)
        return [join_sides(both, states, ids.shape[1]) for states in self._read(both, vectors)]

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        both = sides(ids, lengths)
        _, composed = self._read(both, vectors)
        ends = [pool(x, side.lengths) for side, x in zip(both, composed, strict=True) for pool in (mean, largest)]
        return torch.cat(ends, 1)

    def _read(self, both: tuple[PairSide, PairSide], vectors: Vectors) -> tuple[list[Vectors], list[Vectors]]:
        """Return both sides encoded, and both composed."""
        a, b = (recur(self.encode, self.dropout(side.of(vectors)), side.lengths) for side in both)
        scores = a @ b.transpose(1, 2)
        to_b, to_a = attend(scores, b, both[1].lengths), attend(scores.transpose(1, 2), a, both[0].lengths)
        return [a, b], [self._composed(a, to_b, both[0]), self._composed(b, to_a, both[1])]

    def _composed(self, own: Vectors, other: Vectors, side: PairSide) -> Vectors:
        inferred = self.project(torch.cat([own, other, own - other, own * other], -1))
        return recur(self.compose, self.dropout(functional.relu(inferred)), side.lengths)


def attend(
    scores: Float[Tensor, "batch own other"], values: Float[Tensor, "batch other dim"], lengths: Lengths
) -> Float[Tensor, "batch own dim"]:
    """Return for each own word the other side's words, weighted by their scores (equations 12 and 13)."""
    inside = within(lengths, values.shape[1])[:, None]
    return scores.masked_fill(~inside, -torch.inf).softmax(2) @ values


def pair_esim(vocab: int, labels: int, *, dim: int = 100, hidden: int = 150, dropout: float = 0.5) -> Classifier:
    """Build ESIM (Chen et al. 2017), the strongest classifier of Zhao et al. 2018, section 3.2.

    Differs: the sequential model, not the TreeLSTM over parses; half the paper's 300 units.
    """
    embedding, head = fresh_words(vocab, dim, SPREAD), judge(8 * hidden, hidden, labels, dropout)
    return Classifier(embedding, Inference(dim, hidden, dropout), head, dropout=dropout)
