"""LSTMs over words: one or both directions, the maximum over time or attention, one linear layer."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.models.inside import Ids, Lengths, Vectors, Weights
from malaprop.models.padded_rows import fill_empty_rows, largest, recur, within
from malaprop.models.tokens.vocab import UNK
from malaprop.zoo.blocks.classifier import Classifier, fresh_words, no_attention
from malaprop.zoo.blocks.pairs import SPREAD, PairSide, compare_sides, join_sides, judge, sides


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

    def from_vectors(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:  # noqa: ARG002
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


# --- a bidirectional LSTM whose states are summed up by how much attention each gets


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
