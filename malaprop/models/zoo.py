"""The zoo: what a model is called, and the network and training that the name stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown

if TYPE_CHECKING:
    from torch import nn

    from malaprop.models.training import Training

UNITS = {"word": "W"}  # as they stand in a name
EMBEDDINGS = ("Random", "GloVe")
DEPTHS = {"LSTM": (1, 2, 4), "BiLSTM": (1, 2, 4), "CNN": (1, 2, 4, 6)}
FINE_TUNED = "BERT"
RANDOM_DIM = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooSpec:
    """One model of the zoo. `BERT` is a fine-tuned MiniLM: units, embedding and depth are those of its weights."""

    encoder: str
    units: str = "word"
    embedding: str = "GloVe"
    depth: int = 1

    @property
    def name(self) -> str:
        if self.encoder == FINE_TUNED:
            return FINE_TUNED
        return f"{self.encoder}-{UNITS[self.units]}-{self.embedding}-{self.depth}"

    @classmethod
    def of(cls, name: str) -> ZooSpec:
        """The model of that name, in upper or lower case."""
        found = {spec.name.lower(): spec for spec in grid()}.get(name.lower())
        if found is None:
            raise unknown("model", name, names())
        return found

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def grid() -> Iterator[ZooSpec]:
    """Every model there is."""
    for encoder, depths in DEPTHS.items():
        for units in UNITS:
            for embedding in EMBEDDINGS:
                for depth in depths:
                    yield ZooSpec(encoder=encoder, units=units, embedding=embedding, depth=depth)
    yield ZooSpec(encoder=FINE_TUNED, units="piece", embedding="MiniLM", depth=6)


def names() -> tuple[str, ...]:
    return tuple(spec.name for spec in grid())


def is_name(name: str) -> bool:
    return name.lower() in {known.lower() for known in names()}


def shape(spec: ZooSpec, dim: int) -> dict[str, Any]:
    """The settings of a word model's network; they go into its checkpoint, so a later change here breaks no old one."""
    common = {"dim": dim, "depth": spec.depth}
    if spec.encoder == "CNN":
        return {**common, "filters": 100, "widths": [3, 4, 5], "dropout": 0.2}
    return {**common, "hidden": 100, "both": spec.encoder == "BiLSTM", "dropout": 0.4}


def network(spec: ZooSpec, vocab: int, labels: int, settings: dict[str, Any]) -> nn.Module:
    """A word model with fresh weights."""
    if spec.encoder == "CNN":
        from malaprop.models.blocks.cnn import WordCNN

        return WordCNN(vocab, labels, **settings)
    from malaprop.models.blocks.lstm import WordLSTM

    return WordLSTM(vocab, labels, **settings)


def limit(spec: ZooSpec) -> int:
    """How many tokens of a text the model reads, special ones too."""
    return 128 if spec.encoder == FINE_TUNED else 512


def training(spec: ZooSpec) -> Training:
    """How a model is trained unless the user says otherwise; chosen on the validation split of `mr`."""
    from malaprop.models.training import Training

    if spec.encoder == FINE_TUNED:  # its word vectors stay: a tenth of the time for no accuracy
        return Training(epochs=1, rate=2e-4, rates=(("model.bert.embeddings", 0.0),))
    if spec.encoder == "CNN":
        return Training(epochs=6, rate=2e-3)
    return Training(epochs=8, rate=2e-3)
