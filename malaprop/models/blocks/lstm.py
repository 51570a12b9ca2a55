"""A word LSTM: one or both directions, the maximum over time, one linear layer."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from malaprop.models.vocab import UNK


class WordLSTM(nn.Module):
    """Each direction runs within the text's own length, so padding never changes a score.

    A text without a token is read as one unknown word.
    """

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
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        between = dropout if depth > 1 else 0.0
        self.lstm = nn.LSTM(dim, hidden, depth, batch_first=True, bidirectional=both, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden * (2 if both else 1), labels)

    def forward(self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
        if ids.shape[1] == 0:
            ids = ids.new_zeros(len(ids), 1)
        ids = torch.where((lengths == 0)[:, None] & (torch.arange(ids.shape[1], device=ids.device) == 0), UNK, ids)
        lengths = lengths.clamp(min=1)
        packed = pack_padded_sequence(
            self.dropout(self.embedding(ids)), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, padding_value=-torch.inf)
        logits: Tensor = self.head(self.dropout(states.amax(1)))
        return logits
