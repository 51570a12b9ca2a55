"""A bidirectional LSTM whose states are summed up by how much attention each gets."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.models.blocks.classifier import Classifier, fresh_words
from malaprop.models.blocks.offers import Ids, Lengths, Vectors, Weights
from malaprop.models.blocks.rows import recur, within


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
        """One layer, one head, one query."""
        return self._weights(self.layers(vectors, ids, lengths)[-1], lengths)[None, :, None, None]

    def _weights(self, states: Vectors, lengths: Lengths) -> Float[Tensor, "batch token"]:
        scores: Tensor = self.look(states)[..., 0]
        return scores.masked_fill(~within(lengths, states.shape[1]), -torch.inf).softmax(1)


def bilstm_attention(
    vocab: int, labels: int, *, dim: int = 100, hidden: int = 150, depth: int = 1, dropout: float = 0.4
) -> Classifier:
    """The LSTM of Hsieh et al. 2019 (On the Robustness of Self-Attentive Models), section 2.1.

    Differs: the paper gives no sizes for its classifiers; the 512 units it names are those of its translation model.
    """
    return Classifier(
        fresh_words(vocab, dim),
        Attentive(dim, hidden, depth, dropout),
        nn.Linear(2 * hidden, labels),
        attends=True,
        dropout=dropout,
    )
