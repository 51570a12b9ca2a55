"""A small model that reads characters, trained on a few words in a second, as a victim."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch.nn import functional

from malaprop.core.example import Example, number_rows
from malaprop.models.tokens.vocab import UNKNOWN, Vocab
from malaprop.models.victims.tokens import TokenVictim
from malaprop.training.seeds import seeded
from malaprop.zoo.blocks.charwords import charcnn_lstm
from malaprop.zoo.victim import gradients_of

GOOD = ("good", "great", "lovely", "clever", "moving", "funny", "charming", "superb")
BAD = ("bad", "awful", "dull", "boring", "clumsy", "stupid", "tedious", "dreadful")
PLAIN = ("the", "film", "plot", "is", "and", "a", "story", "with", "ending", "2", "actors", "of", "it")
LIMIT = 64


def texts(count: int, seed: int = 0) -> list[Example]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        words = [*rng.choice(PLAIN, 7), *rng.choice(GOOD if i % 2 else BAD, 3), *rng.choice(BAD if i % 2 else GOOD, 1)]
        rows.append(({"text": " ".join(rng.permutation(words)) + " ."}, i % 2))
    return list(number_rows(rows))


@cache
def victim() -> TokenVictim:
    rows = texts(200)
    vocab = Vocab.build([e.fields["text"] for e in rows] + ["abcdefghijklmnopqrstuvwxyz"])
    with seeded(0):
        model = charcnn_lstm(len(vocab), 2, char_dim=8, filters=40, width=3, hidden=24, depth=1, symbols=60, most=16)
        opened = model.embedding.open_to(vocab)
        coded = opened.encode([(e.fields["text"],) for e in rows])
        lengths = torch.tensor([len(c) for c in coded])
        ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
        for line, row in zip(ids, coded, strict=True):
            line[: len(row)] = torch.tensor(row)
        labels = torch.tensor([e.label for e in rows])
        adam = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(25):
            adam.zero_grad()
            functional.cross_entropy(model(ids, lengths), labels).backward()
            adam.step()
    model.eval().requires_grad_(False)
    gradients = gradients_of(model, opened, LIMIT, "cpu")
    assert gradients is not None
    return TokenVictim(
        name="small",
        cut=opened.cut,
        encode_whole=opened.encode,
        forward=model,
        labels=2,
        limit=LIMIT,
        context_free=True,
        unknown=UNKNOWN,
        gradients=gradients,
    )
