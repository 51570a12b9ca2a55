"""Trains a model of the zoo and writes it to a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import nn

from malaprop.core.errors import VictimError
from malaprop.core.example import Example
from malaprop.core.victim import Fields
from malaprop.models import checkpoint, zoo
from malaprop.models.checkpoint import Card
from malaprop.models.splits import Splits
from malaprop.models.training import Fitted, Hooks, Rows, Training, fit, judge, seeded
from malaprop.models.vocab import SPECIAL, Vocab
from malaprop.models.zoo import FINE_TUNED, RANDOM_DIM, ZooSpec

Encode = Callable[[Sequence[Fields]], Sequence[Sequence[int]]]


def train(
    spec: ZooSpec,
    data: Splits,
    folder: Path,
    *,
    seed: int = 0,
    device: str = "cpu",
    settings: Training | None = None,
    hooks: Hooks | None = None,
    quiet: bool = False,
) -> Card:
    """Trains, judges on the test part, and writes the folder whole or not at all."""
    how = settings or zoo.training(spec)
    job = _FineTuning(spec, data, seed) if spec.encoder == FINE_TUNED else _Words(spec, data, seed)
    job.model.to(device)
    parts = [_rows(part, job.encode) for part in (data.train, data.held_out, data.test)]
    fitted = fit(job.model, parts[0], parts[1], how, seed=seed, hooks=hooks, quiet=quiet, title=f"training {spec.name}")
    card = Card(
        spec=spec.plain(),
        shape=job.shape,
        labels=data.labels,
        limit=zoo.limit(spec),
        data=data.name,
        data_fingerprint=data.fingerprint,
        seed=seed,
        figures=_figures(fitted, judge(job.model, parts[2])[0], parts),
    )
    job.save(folder, card)
    return card


def _rows(examples: Sequence[Example], encode: Encode) -> Rows:
    return Rows(encode([tuple(e.fields.values()) for e in examples]), [e.label for e in examples])


def _figures(fitted: Fitted, accuracy: float, parts: Sequence[Rows]) -> dict[str, float]:
    return {
        "test_accuracy": round(accuracy, 4),
        "validation_accuracy": round(fitted.accuracy, 4),
        "train_rows": len(parts[0].labels),
        "test_rows": len(parts[2].labels),
        "epochs": len(fitted.epochs),
        "seconds": round(fitted.seconds, 1),
    }


class _Words:
    """A word model: vocabulary of the training texts, embedding drawn or read from GloVe."""

    def __init__(self, spec: ZooSpec, data: Splits, seed: int) -> None:
        self.vocab = Vocab.build(value for e in data.train for value in e.fields.values())
        self.most = zoo.limit(spec)
        with seeded(seed):
            if spec.embedding == "GloVe":
                self.model, self.shape = self._from_vectors(spec, len(data.labels))
            else:
                self.shape = zoo.shape(spec, RANDOM_DIM)
                self.model = zoo.network(spec, len(self.vocab), len(data.labels), self.shape)

    def _from_vectors(self, spec: ZooSpec, labels: int) -> tuple[nn.Module, dict[str, object]]:
        from malaprop.assets.vectors import open_vectors

        vectors = open_vectors("glove")
        table, known = (torch.from_numpy(a) for a in vectors.raw(self.vocab.words))
        known[: len(SPECIAL)] = False
        shape = zoo.shape(spec, vectors.dim)
        model = zoo.network(spec, len(self.vocab), labels, shape)
        embedding = model.get_submodule("embedding")
        assert isinstance(embedding, nn.Embedding)
        with torch.no_grad():
            fresh = embedding.weight.normal_(0, 0.1)  # words without a vector: short ones, so that they say little
            fresh[known] = table[known]
            fresh[0] = 0
        return model, shape

    def encode(self, texts: Sequence[Fields]) -> list[list[int]]:
        return [row[: self.most] for row in self.vocab.encode(texts)]

    def save(self, folder: Path, card: Card) -> None:
        checkpoint.save(folder, card, self.model, self.vocab)


class _FineTuning:
    """MiniLM with a classifier on its first token, written so that transformers reads the folder as well."""

    shape: dict[str, object] = {}

    def __init__(self, spec: ZooSpec, data: Splits, seed: int) -> None:
        from malaprop.assets import store
        from malaprop.models.blocks.transformer import Attending
        from malaprop.models.quiet import quietly
        from malaprop.models.wordpieces import WordPieces

        try:
            from transformers import BertForSequenceClassification
        except ImportError:
            raise VictimError(f"{spec.name} needs the transformers library; install malaprop[hf]") from None
        self.source = store.locate("minilm")
        self.most = zoo.limit(spec)
        self.pieces = WordPieces.load(self.source / "tokenizer.json")
        names = dict(enumerate(data.labels))
        with seeded(seed), quietly():
            self.network = BertForSequenceClassification.from_pretrained(
                self.source,
                num_labels=len(names),
                id2label=names,
                label2id={name: i for i, name in names.items()},
                dtype=torch.float32,
                local_files_only=True,
            )
        self.model = Attending(self.network, self.pieces.between[0])

    def encode(self, texts: Sequence[Fields]) -> list[list[int]]:
        return self.pieces.rows(texts, self.most)

    def save(self, folder: Path, card: Card) -> None:
        from malaprop.models.quiet import quietly

        with checkpoint.appearing(folder) as made, quietly():
            self.network.save_pretrained(made)
            for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
                if (self.source / name).is_file():
                    (made / name).write_bytes((self.source / name).read_bytes())
            checkpoint.write_card(made, card)
