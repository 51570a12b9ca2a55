"""Small models of the zoo with fresh weights, as folders that --victim takes; none has learnt anything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from malaprop.models.tokens.vocab import Vocab
from malaprop.training.card import Card
from malaprop.training.seeds import seeded
from malaprop.zoo import checkpoint
from malaprop.zoo.names import ZooSpec
from malaprop.zoo.special_models import SPECIAL_MODELS

SMALL = {"Transformer": {"dim": 16, "heads": 4, "inner": 32}}
TEXTS = ("a good film and a bad one", "nobody sleeps", "the man is not asleep", "a dog runs", "an animal moves")


def saved(folder: Path, name: str, labels: tuple[str, ...] = ("no", "yes"), texts: Iterable[str] = TEXTS) -> Path:
    shape = next((shape for part, shape in SMALL.items() if part in name), {"dim": 12, "hidden": 8})
    vocab = Vocab.build(texts)
    special = SPECIAL_MODELS[name]
    with seeded(0):
        model = special.network(len(vocab), len(labels), **shape)
    card = Card(
        spec=ZooSpec.of(name).plain(),
        shape={**special.shape, **shape},
        labels=labels,
        limit=64,
        data="toy",
        data_fingerprint="f",
        seed=0,
        figures={"test_accuracy": 0.5},
    )
    checkpoint.save(folder, card, model, vocab)
    return folder
