"""The record of training: each model with its figures, or the reason why it could not be trained."""

from __future__ import annotations

from dataclasses import dataclass, field

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

FILE = "trained.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A trained model; `folder` is its place, below the record's folder or in the cache."""

    name: str
    data: str
    seed: int = 0
    folder: str = "."
    figures: dict[str, int | float] = field(default_factory=dict)
    rates: dict[str, Rate] = field(default_factory=dict)  # figures that are shares of a count
    about: str = ""
    hardened: str = ""  # by which defence
    samples: tuple[str, ...] = ()  # sentences that it generates
    number: int = 0  # in the paper's table of 63 models
    reason: str = ""  # why it could not be trained


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRecord(Record):
    """The models that one command trained."""

    command: str
    models: tuple[TrainedModel, ...]

    @property
    def failed(self) -> tuple[TrainedModel, ...]:
        return tuple(model for model in self.models if model.reason)
