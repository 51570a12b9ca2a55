"""ESIM: each word of one side beside what it attends to on the other."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from malaprop.models.inside.network import Ids, Lengths, Vectors
from malaprop.models.padded_rows import largest, mean, recur, within
from malaprop.zoo.blocks.classifier import Classifier, fresh_words
from malaprop.zoo.blocks.pairs import SPREAD, join_sides, judge
from malaprop.zoo.blocks.sides import PairSide, sides


class Inference(nn.Module):
    """Encoding, local inference from soft alignment, composition, and pooling: Chen et al. 2017, section 3."""

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
        """Both sides encoded, and both composed."""
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
    """For each own word the other side's words, weighed by their scores (equations 12 and 13)."""
    inside = within(lengths, values.shape[1])[:, None]
    return scores.masked_fill(~inside, -torch.inf).softmax(2) @ values


def pair_esim(vocab: int, labels: int, *, dim: int = 100, hidden: int = 150, dropout: float = 0.5) -> Classifier:
    """Chen et al. 2017, which Zhao et al. 2018, section 3.2, take as their strongest classifier.

    Differs: the sequential model, not the TreeLSTM over parses; half the paper's 300 units.
    """
    embedding, head = fresh_words(vocab, dim, SPREAD), judge(8 * hidden, hidden, labels, dropout)
    return Classifier(embedding, Inference(dim, hidden, dropout), head, dropout=dropout)
