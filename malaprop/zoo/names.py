"""The zoo: each model's name, and the network and training that the name stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError
from malaprop.models.folder import FINE_TUNED
from malaprop.training.card import OWN, SIZED, Card, add_seed, spec_name
from malaprop.zoo.special_models import SPECIAL_MODELS, Reads

if TYPE_CHECKING:
    from torch import nn

    from malaprop.zoo.training import Training

ALL = "all63"
INPUTS = (  # in the order of the paper's table
    ("word", "Random"),
    ("word", "GloVe"),
    ("word", "W2vec"),
    ("word", "fastText"),
    ("character", "Random"),
    ("both", "ELMo"),
)
DEPTHS = dict(zip(SIZED, ((1, 2, 4), (1, 2, 4), (1, 2, 4, 6)), strict=True))
RANDOM_DIM = 100
_CHARS = {"char_dim": 32, "widths": [2, 3, 4, 5], "filters": 64, "highways": 1, "symbols": 128, "most": 20}
_SEEDED = re.compile(r"(.+)#([1-9]\d{0,8})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooSpec:
    """One model of the zoo.

    `encoder` is one of the table's three, or the whole name of a model that is fine-tuned or special; the other entries
    then only say what is known of it.
    """

    encoder: str
    units: str = "word"
    embedding: str = "GloVe"
    depth: int = 1

    @property
    def name(self) -> str:
        return spec_name(self.encoder, self.units, self.embedding, self.depth)

    @property
    def fine_tuned(self) -> bool:
        return self.encoder in FINE_TUNED or self.encoder == OWN

    @property
    def pairs(self) -> bool:
        """Return whether the model reads a premise and a hypothesis."""
        return self.special and SPECIAL_MODELS[self.encoder].reads is Reads.PAIR

    @property
    def special(self) -> bool:
        return self.encoder in SPECIAL_MODELS

    @property
    def vectors(self) -> bool:
        """Return whether the model starts from word vectors."""
        return self.units == "word" and self.embedding != "Random" and not self.fine_tuned

    @property
    def start(self) -> str | None:
        """Return the asset or the kind of pre-training that the model starts from, where it is always the same."""
        own = {"BERT": "minilm", "RoBERTa": "roberta", "ALBERT": "albert", "MPNet": "mpnet"}
        return own.get(self.encoder) or {"GloVe": "glove", "ELMo": "elmo"}.get(self.embedding)

    @classmethod
    def of(cls, name: str) -> ZooSpec:
        """Return the model of that name, in upper or lower case."""
        found = _by_name().get(name.lower())
        if found is None:
            if name.lower() == ALL:
                raise SettingError(f"{ALL} is many models; name one of them: see malaprop list models")
            raise unknown("model", name, (*names(), ALL))
        return found

    @classmethod
    def from_card(cls, card: Card) -> ZooSpec:
        """Return the model of the zoo that a card names."""
        spec = cls(**card.spec)
        if spec.encoder not in (*SIZED, *FINE_TUNED, *SPECIAL_MODELS, OWN):
            raise VictimError(f"{card.name} is not a model of the zoo, though its card says so; train the model again")
        return spec

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def grid() -> Iterator[ZooSpec]:
    """Yield the 63 models of Table 7 in the universal-transferability paper, in the order of its numbers."""
    for encoder, depths in DEPTHS.items():
        for depth in depths:
            for units, embedding in INPUTS:
                yield ZooSpec(encoder=encoder, units=units, embedding=embedding, depth=depth)
    yield ZooSpec(encoder="BERT", units="piece", embedding="MiniLM", depth=6)
    yield ZooSpec(encoder="RoBERTa", units="piece", embedding="own", depth=6)
    yield ZooSpec(encoder="ALBERT", units="piece", embedding="own", depth=6)


def others() -> Iterator[ZooSpec]:
    """Yield a base-size transformer that the paper's table does not have, and the other papers' special models."""
    yield ZooSpec(encoder="MPNet", units="piece", embedding="MPNet", depth=12)
    for special in SPECIAL_MODELS.values():
        units = "character" if special.reads is Reads.CHARACTERS else "word"
        start = "GloVe" if special.vectors else "Random"
        yield ZooSpec(encoder=special.name, units=units, embedding=start, depth=int(special.shape.get("depth", 1)))


@cache
def _by_name() -> dict[str, ZooSpec]:
    return {spec.name.lower(): spec for spec in (*grid(), *others())}


def names() -> tuple[str, ...]:
    """Return the names of all models: the 63, then the others."""
    return tuple(spec.name for spec in _by_name().values())


def number(name: str) -> int:
    """Return the number of a model in the paper's table, from 1 to 63."""
    for at, spec in enumerate(grid(), 1):
        if spec == ZooSpec.of(name):
            return at
    raise SettingError(f"{name} is a special model, which has no number; the paper's table has 1 to 63")


def parse(name: str, seed: int = 0) -> tuple[ZooSpec, int]:
    """Return model and seed of a name: `LSTM-W-Random-1#2` is the second of that name, trained with seed 1."""
    found = _SEEDED.fullmatch(name)
    return (ZooSpec.of(found[1]), int(found[2]) - 1) if found else (ZooSpec.of(name), seed)


def name_with_seed(spec: ZooSpec, seed: int) -> str:
    return add_seed(spec.name, seed)


def is_name(name: str) -> bool:
    found = _SEEDED.fullmatch(name)
    return (found[1] if found else name).lower() in _by_name()


def shape(spec: ZooSpec, dim: int, elmo: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the settings of a model's network; its checkpoint stores them, so a later change breaks no old one.

    `dim` is the width of the word vectors, `elmo` the shape of the frozen encoder below.
    """
    if spec.fine_tuned:
        return {}
    if spec.special:
        own = dict(SPECIAL_MODELS[spec.encoder].shape)
        return {**own, "dim": dim} if spec.vectors else own
    settings: dict[str, Any] = {"dim": dim, "depth": spec.depth}
    if spec.encoder == "CNN":
        settings |= {"filters": 100, "widths": [3, 4, 5], "dropout": 0.2}
    else:
        settings |= {"hidden": 100, "both": spec.encoder == "BiLSTM", "dropout": 0.4}
    if spec.units == "character":
        settings["chars"] = dict(_CHARS)
    if spec.units == "both":
        settings |= {"dim": dim + RANDOM_DIM, "words": RANDOM_DIM, "elmo": dict(elmo or {})}
    return settings


def network(spec: ZooSpec, vocab: int, labels: int, settings: dict[str, Any]) -> nn.Module:
    """Build a model that reads words or their characters, with fresh weights."""
    if spec.special:
        return SPECIAL_MODELS[spec.encoder].network(vocab, labels, **settings)
    rest = {name: value for name, value in settings.items() if name not in ("chars", "elmo", "words")}
    embedding: nn.Module | None = None
    if spec.units == "character":
        from malaprop.zoo.blocks.charwords import CharWords

        embedding = CharWords(dim=rest["dim"], **settings["chars"])
    if spec.units == "both":
        from malaprop.zoo.blocks.elmo import ElmoWords

        embedding = ElmoWords(vocab=vocab, words=settings["words"], **settings["elmo"])
    if spec.encoder == "CNN":
        from malaprop.zoo.blocks.cnn import WordCNN

        return WordCNN(vocab, labels, embedding=embedding, **rest)
    from malaprop.zoo.blocks.lstm import WordLSTM

    return WordLSTM(vocab, labels, embedding=embedding, **rest)


def limit(spec: ZooSpec) -> int:
    """Return how many tokens of a text the model reads, special ones too."""
    if spec.special:
        return SPECIAL_MODELS[spec.encoder].limit
    return 128 if spec.fine_tuned else 512


# Epochs and rates by encoder and what it reads, else by encoder alone.
_TRAININGS: dict[tuple[str, str] | str, dict[str, Any]] = {
    # its word vectors stay: a tenth of the time for no accuracy
    "BERT": {"epochs": 1, "rate": 2e-4, "rates": (("model.bert.embeddings", 0.0),)},
    "MPNet": {"epochs": 3, "rate": 3e-5, "rates": (("model.mpnet.embeddings", 0.0),)},
    OWN: {"epochs": 2, "rate": 2e-5},
    "RoBERTa": {"epochs": 3, "rate": 2e-4},
    "ALBERT": {"epochs": 3, "rate": 5e-5},  # every layer moves with each step, as they share their weights
    "CNN": {"epochs": 5, "rate": 2e-3},
    "LSTM": {"epochs": 6, "rate": 2e-3},
    ("CNN", "both"): {"epochs": 6, "rate": 2e-3},
    ("LSTM", "both"): {"epochs": 6, "rate": 2e-3},
    ("CNN", "character"): {"epochs": 7, "rate": 2e-3},
    ("LSTM", "character"): {"epochs": 6, "rate": 3e-3},
}


def training(spec: ZooSpec, rows: int = 10_000) -> Training:
    """Return the default training of a model on so many texts."""
    from malaprop.zoo.training import Training

    if spec.special:
        return SPECIAL_MODELS[spec.encoder].training
    kind = spec.encoder.removeprefix("Bi")
    settings = dict(_TRAININGS.get((kind, spec.units)) or _TRAININGS[kind])
    if not spec.fine_tuned:
        settings["batch"] = 32 if rows < 5_000 else 64 if rows < 20_000 else 256
        if spec.depth > 2:
            settings["rate"] *= 0.5  # deep ones fall apart at the rate that suits one layer
    elif rows >= 20_000:
        settings["batch"] = 64
    return Training(**settings)
