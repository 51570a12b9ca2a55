"""A word CNN: windows of several widths, the strongest answer of each filter, one linear layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional


class WordCNN(nn.Module):
    """Kim 2014. The maximum is taken over the windows inside the text, so padding never changes a score.

    A text shorter than the widest window is read as if padding words filled it up. `depth` - 1 layers of three-word
    windows, as wide as the embedding and each added to what it reads, come before the windows that are pooled.
    """

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
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.below = nn.ModuleList(nn.Conv1d(dim, dim, 3, padding=1) for _ in range(depth - 1))
        self.convs = nn.ModuleList(nn.Conv1d(dim, filters, width) for width in widths)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(filters * len(widths), labels)
        self.least = max(widths)

    def forward(self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
        ids = functional.pad(ids, (0, max(0, self.least - ids.shape[1])))
        places = torch.arange(ids.shape[1], device=ids.device)
        inside = (places < lengths[:, None])[:, None]
        x = self.dropout(self.embedding(ids)).transpose(1, 2)
        x = x * inside
        for layer in self.below:
            x = (x + functional.relu(layer(x))) * inside
        ends = lengths.clamp(min=self.least)[:, None]
        pooled = [self._strongest(conv, x, ends) for conv in self.convs]
        logits: Tensor = self.head(self.dropout(torch.cat(pooled, 1)))
        return logits

    @staticmethod
    def _strongest(
        conv: nn.Module, x: Float[Tensor, "batch dim token"], ends: Int[Tensor, "batch 1"]
    ) -> Float[Tensor, "batch filter"]:
        windows: Tensor = conv(x)
        width = x.shape[2] - windows.shape[2] + 1
        beyond = torch.arange(windows.shape[2], device=x.device) > ends - width
        return functional.relu(windows.masked_fill(beyond[:, None], -torch.inf).amax(2))
