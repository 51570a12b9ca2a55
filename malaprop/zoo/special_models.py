"""The papers' special models: the name, input, network and training of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown

if TYPE_CHECKING:
    from malaprop.zoo.blocks.classifier import Classifier
    from malaprop.zoo.training import Training


class Reads(StrEnum):
    WORDS = "words"
    CHARACTERS = "characters of words"  # its embedding is `CharWords`: open it to the vocabulary before it reads
    PAIR = "words of a pair"  # two fields with a separator between them, in one row


@dataclass(frozen=True, slots=True, kw_only=True)
class Special:
    """One special model; `shape` goes into a checkpoint, so a later change here breaks no old one."""

    name: str
    paper: str
    reads: Reads
    made_by: str  # "module:function"
    shape: Mapping[str, Any]
    trained_by: Mapping[str, Any] = field(default_factory=dict)  # settings of `Training`
    vectors: bool = False  # whether the paper starts it from word vectors; then `shape["dim"]` is theirs
    attends: bool = False
    limit: int = 512  # tokens that are read

    def network(self, vocab: int, labels: int, **shape: Any) -> Classifier:
        """Build the network with fresh weights; `shape` overrides single settings of the table."""
        module, _, function = self.made_by.partition(":")
        made: Classifier = getattr(import_module(module), function)(vocab, labels, **{**self.shape, **shape})
        return made

    @property
    def training(self) -> Training:
        """Return the default training."""
        from malaprop.zoo.training import Training

        return Training(**self.trained_by)


_BLOCKS = "malaprop.zoo.blocks"
_SELF_ATTENTIVE = "Hsieh et al. 2019, On the Robustness of Self-Attentive Models"
_HOTFLIP = "Ebrahimi et al. 2018, HotFlip: White-Box Adversarial Examples for Text Classification"
_NATURAL = "Zhao et al. 2018, Generating Natural Adversarial Examples"
_TRANSFORMER = {"dim": 192, "heads": 12, "inner": 768, "depth": 3, "places": 512, "dropout": 0.1}

_ALL = (
    Special(
        name="BiLSTM-Attention",
        paper=_SELF_ATTENTIVE,
        reads=Reads.WORDS,
        made_by=f"{_BLOCKS}.lstm:bilstm_attention",
        shape={"dim": 100, "hidden": 150, "depth": 1, "dropout": 0.4},
        trained_by={"epochs": 8, "rate": 2e-3},
        attends=True,
    ),
    Special(
        name="Transformer-3",
        paper=_SELF_ATTENTIVE,
        reads=Reads.WORDS,
        made_by=f"{_BLOCKS}.selfattention:transformer",
        shape={**_TRANSFORMER, "pairs": False},
        trained_by={"epochs": 8, "rate": 5e-4},
        attends=True,
    ),
    Special(
        name="CharCNN-LSTM",
        paper=_HOTFLIP,
        reads=Reads.CHARACTERS,
        made_by=f"{_BLOCKS}.charwords:charcnn_lstm",
        shape={
            "char_dim": 25,
            "filters": 1000,
            "width": 6,
            "highways": 1,
            "hidden": 500,
            "depth": 2,
            "symbols": 128,
            "most": 24,
            "blanks": 0.02,
            "dropout": 0.3,
            "cased": False,
        },
        trained_by={"epochs": 12, "batch": 64, "rate": 1e-3},
    ),
    Special(
        name="Kim-CNN",
        paper="Kim 2014, Convolutional Neural Networks for Sentence Classification",
        reads=Reads.WORDS,
        made_by=f"{_BLOCKS}.cnn:kim_cnn",
        shape={"dim": 100, "filters": 100, "widths": [3, 4, 5], "channels": 1, "norm": 3.0, "dropout": 0.5},
        trained_by={"epochs": 8, "batch": 50, "rate": 2e-3},
        vectors=True,
    ),
    Special(
        name="Pair-Average",
        paper=_NATURAL,
        reads=Reads.PAIR,
        made_by=f"{_BLOCKS}.pairs:pair_average",
        shape={"dim": 100, "hidden": 200, "dropout": 0.2},
        trained_by={"epochs": 8, "rate": 2e-3},
        vectors=True,
    ),
    Special(
        name="Pair-LSTM",
        paper=_NATURAL,
        reads=Reads.PAIR,
        made_by=f"{_BLOCKS}.pairs:pair_lstm",
        shape={"dim": 100, "hidden": 150, "inner": 200, "dropout": 0.3},
        trained_by={"epochs": 8, "rate": 1e-3},
        vectors=True,
    ),
    Special(
        name="Pair-BiLSTM-Attention",
        paper=_SELF_ATTENTIVE,
        reads=Reads.PAIR,
        made_by=f"{_BLOCKS}.lstm:pair_bilstm_attention",
        shape={"dim": 100, "hidden": 150, "depth": 1, "inner": 200, "dropout": 0.3},
        trained_by={"epochs": 8, "rate": 1e-3},
        vectors=True,
        attends=True,
    ),
    Special(
        name="Pair-ESIM",
        paper="Chen et al. 2017, Enhanced LSTM for Natural Language Inference",
        reads=Reads.PAIR,
        made_by=f"{_BLOCKS}.pairs:pair_esim",
        shape={"dim": 100, "hidden": 150, "dropout": 0.5},
        trained_by={"epochs": 8, "rate": 1e-3},
        vectors=True,
    ),
    Special(
        name="Pair-Transformer",
        paper=_SELF_ATTENTIVE,
        reads=Reads.PAIR,
        made_by=f"{_BLOCKS}.selfattention:transformer",
        shape={**_TRANSFORMER, "pairs": True},
        trained_by={"epochs": 8, "rate": 5e-4},
        attends=True,
    ),
)

SPECIAL_MODELS: Mapping[str, Special] = {special.name: special for special in _ALL}


def special(name: str) -> Special:
    """Return the special model of that name, in upper or lower case."""
    found = {known.lower(): model for known, model in SPECIAL_MODELS.items()}.get(name.lower())
    if found is None:
        raise unknown("special model", name, SPECIAL_MODELS)
    return found
