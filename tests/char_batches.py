"""A tiny network that reads characters, and a batch of texts for it."""

import numpy as np
import torch

from malaprop.models.tokens.vocab import Vocab
from malaprop.training.seeds import seeded
from malaprop.zoo.special_models import SPECIAL_MODELS
from malaprop.zoo.training import Batch

TEXTS = ["a good film, really good", "bad", "the worst idea of 2004 was good", "so bad it's bad ."]
LABELS = [1, 0, 1, 0]


def network(width=3, **more):
    with seeded(0):
        model = SPECIAL_MODELS["CharCNN-LSTM"].network(
            9, 2, **{"char_dim": 6, "filters": 20, "width": width, "hidden": 8, "dropout": 0, **more}
        )
    model.embedding.open_to(Vocab.build(TEXTS))
    return model


def batch(model, texts=TEXTS, labels=LABELS):
    rows = model.embedding.vocab.encode([(text,) for text in texts])
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
    for line, row in zip(ids, rows, strict=True):
        line[: len(row)] = torch.tensor(row)
    return Batch(ids, torch.tensor([len(row) for row in rows]), torch.tensor(labels), np.arange(len(rows)))
