"""TextAttack's LSTM classifier, as both sides of the HotFlip comparison use it, with the same weights and tokens.

Words are split at spaces and looked up in lower case, and every text is filled up to one length with padding, which
the network reads too: that is how the peer's own class does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.example import Example
from malaprop.training.seeds import seeded

LENGTH = 64  # tokens that are read; the peer's own default is 128
HIDDEN = 150
WEIGHTS, LISTED = "weights.npz", "words.txt"


class PeerLSTM(nn.Module):
    """A bidirectional LSTM layer, the maximum over time, and a linear layer, under the peer's names."""

    def __init__(self, vectors: Float[Tensor, "word dim"], labels: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(vectors), vectors.shape[1], _weight=vectors.clone())
        self.encoder = nn.LSTM(vectors.shape[1], HIDDEN // 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(HIDDEN, labels)
        self.pad = len(vectors) - 1

    def forward(
        self, ids: Int[Tensor, "batch token"], inside: Int[Tensor, "batch token"] | None = None
    ) -> Float[Tensor, "batch label"]:
        rows = ids if inside is None else torch.where(inside > 0, ids, self.pad)
        filled = functional.pad(rows, (0, LENGTH - ids.shape[1]), value=self.pad)
        logits: Tensor = self.out(self.encoder(self.embedding(filled))[0].amax(1))
        return logits


class Reader:
    """A tokenizer: a number for each word of the list, then one for any other word, then one for padding."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.index = {word: number for number, word in enumerate(self.words)}

    def __call__(self, strings: list[str]) -> list[list[int]]:
        return [[self.index.get(word, len(self.words)) for word in string.lower().split()] for string in strings]


def start(words: Sequence[str], vectors: Float[Tensor, "word dim"]) -> Float[Tensor, "more dim"]:
    """Return the vectors with two random ones behind them, all scaled to length 1, as the peer does."""
    drawn = torch.empty(2, vectors.shape[1]).uniform_(-0.25, 0.25, generator=torch.Generator().manual_seed(0))
    assert len(words) == len(vectors)
    return functional.normalize(torch.cat([vectors, drawn]), dim=1)


def train(
    words: Sequence[str], vectors: Float[Tensor, "word dim"], examples: Sequence[Example], *, epochs: int, seed: int = 0
) -> PeerLSTM:
    """Train a classifier that is accurate enough for attacks on it to mean something."""
    reader = Reader(words)
    rows = [row[:LENGTH] for row in reader([e.fields["text"] for e in examples])]
    with seeded(seed):
        model = PeerLSTM(start(words, vectors)).train()
        ids = torch.full((len(rows), LENGTH), model.pad)
        for line, row in zip(ids, rows, strict=True):
            line[: len(row)] = torch.tensor(row)
        labels = torch.tensor([e.label for e in examples])
        optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
        for _ in range(epochs):
            for part in torch.split(torch.randperm(len(rows)), 128):
                optimiser.zero_grad()
                functional.cross_entropy(model(ids[part]), labels[part]).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
    return model.eval().requires_grad_(False)


def save(folder: Path, model: PeerLSTM, words: Sequence[str]) -> None:
    """Write the weights as arrays under the peer's names, and the word list with vectors, where the peer looks."""
    names = {"embedding.weight": "emb_layer.embedding.weight"}
    arrays: dict[str, Any] = {names.get(name, name): t.numpy() for name, t in model.state_dict().items()}
    np.savez(folder / WEIGHTS, **arrays)
    glove = folder / "cache" / "word_embeddings" / "glove200"
    glove.mkdir(parents=True, exist_ok=True)
    np.save(glove / "glove.wordlist.npy", np.asarray(words))
    np.save(glove / "glove.6B.200d.mat.npy", model.embedding.weight[:-2].numpy())
