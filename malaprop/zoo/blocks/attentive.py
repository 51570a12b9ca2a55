"""A bidirectional LSTM whose states are summed up by how much attention each gets."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.models.inside import Ids, Lengths, Vectors, Weights
from malaprop.models.padded_rows import recur, within
from malaprop.zoo.blocks.classifier import Classifier, fresh_words
from malaprop.zoo.blocks.pairs import SPREAD, PairSide, compare_sides, join_sides, judge, sides


class Attentive(nn.Module):
    """Attention as Bahdanau et al. 2014 have it, v . tanh(W h), with a learned v that asks for the whole text."""

    def __init__(self, dim: int, hidden: int, depth: int, dropout: float) -> None:
        super().__init__()
        sizes = [dim] + [2 * hidden] * (depth - 1)
        self.lstms = nn.ModuleList(nn.LSTM(size, hidden, batch_first=True, bidirectional=True) for size in sizes)
        self.look = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1, bias=False))
        self.dropout = nn.Dropout(dropout)

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:  # noqa: ARG002
        out: list[Vectors] = []
        for layer in self.lstms:
            assert isinstance(layer, nn.LSTM)
            out.append(recur(layer, self.dropout(out[-1] if out else vectors), lengths))
        return out

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        states = self.layers(vectors, ids, lengths)[-1]
        return torch.einsum("bt,btd->bd", self._weights(states, lengths), states)

    def attention(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Weights:
        """Return the weights on tokens, of one layer, one head and one query."""
        return self._weights(self.layers(vectors, ids, lengths)[-1], lengths)[None, :, None, None]

    def _weights(self, states: Vectors, lengths: Lengths) -> Float[Tensor, "batch token"]:
        scores: Tensor = self.look(states)[..., 0]
        return scores.masked_fill(~within(lengths, states.shape[1]), -torch.inf).softmax(1)


class AttentivePair(nn.Module):
    """Reads both sides by one `Attentive` and compares the two vectors."""

    def __init__(self, dim: int, hidden: int, depth: int, dropout: float) -> None:
        super().__init__()
        self.read = Attentive(dim, hidden, depth, dropout)

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:
        both = sides(ids, lengths)
        each = [self.read.layers(side.of(vectors), ids, side.lengths) for side in both]
        return [join_sides(both, states, ids.shape[1]) for states in zip(*each, strict=True)]

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        a, b = (self.read.pool(side.of(vectors), ids, side.lengths) for side in sides(ids, lengths))
        return compare_sides(a, b)

    def attention(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Weights:
        """Return the weights of one layer, one head and one query, which gives each side one half."""
        both = sides(ids, lengths)
        found = [self._half(side, vectors, ids) for side in both]
        return join_sides(both, found, ids.shape[1])[None, :, None, None, :, 0]

    def _half(self, side: PairSide, vectors: Vectors, ids: Ids) -> Vectors:
        weights = self.read.attention(side.of(vectors), ids, side.lengths)[0, :, 0, 0]
        return weights[..., None] / 2


def pair_bilstm_attention(
    vocab: int,
    labels: int,
    *,
    dim: int = 100,
    hidden: int = 150,
    depth: int = 1,
    inner: int = 200,
    dropout: float = 0.3,
) -> Classifier:
    """Build the LSTM of Hsieh et al. 2019, section 5, for pairs: each side read with attention, then compared.

    Differs: the paper does not say how its LSTM reads pairs; the comparison is that of `pair_lstm`.
    """
    encoder = AttentivePair(dim, hidden, depth, dropout)
    head = judge(8 * hidden, inner, labels, dropout)
    return Classifier(fresh_words(vocab, dim, SPREAD), encoder, head, attends=True, dropout=dropout)


def bilstm_attention(
    vocab: int, labels: int, *, dim: int = 100, hidden: int = 150, depth: int = 1, dropout: float = 0.4
) -> Classifier:
    """Build the LSTM of Hsieh et al. 2019 (On the Robustness of Self-Attentive Models), section 2.1.

    Differs: the paper gives no sizes for its classifiers; the 512 units it names are those of its translation model.
    """
    return Classifier(
        fresh_words(vocab, dim),
        Attentive(dim, hidden, depth, dropout),
        nn.Linear(2 * hidden, labels),
        attends=True,
        dropout=dropout,
    )
