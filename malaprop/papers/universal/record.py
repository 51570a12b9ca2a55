"""The record of a transfer study: models, transfer counts, factors and class tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

FILE = "transfer.json"
Row = tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The traits of a model that the paper varies one at a time."""

    architecture: str
    input: str
    embedding: str
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferModel:
    """A model that is source and target. `spec` is what `--victim` takes; `second` names one of another seed.

    `counts` are its outcomes as a source, by status; `drawn` of its successes were tried on the others.
    """

    name: str
    spec: str
    number: int | None  # in the paper's table of 63
    traits: Traits | None
    second: str | None
    second_spec: str | None
    counts: dict[str, int]
    drawn: int
    asked: int
    forwarded: int

    @property
    def clean(self) -> Rate:
        right = self.counts.get("success", 0) + self.counts.get("failed", 0)
        return Rate(right, right + self.counts.get("skipped", 0))

    @property
    def success(self) -> Rate:
        won = self.counts.get("success", 0)
        return Rate(won, won + self.counts.get("failed", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A factor's effect: the mean absolute difference to the base rate over pairs of models that differ in one trait.

    `noise` is what that mean would be about if there were no difference at all, from the counts behind each rate.
    """

    name: str
    about: str
    mean: Estimate
    noise: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTable:
    """Mean rates between classes of models, sources down and targets across; None where there is no pair."""

    name: str
    classes: tuple[str, ...]
    models: tuple[int, ...]  # of each class
    cells: tuple[tuple[Estimate | None, ...], ...]
    sources: tuple[float | None, ...]  # mean of each row
    targets: tuple[float | None, ...]  # mean of each column


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What the attacks cost: `wall` seconds by the clock, `busy` seconds of all processes together.

    `floor` is the time that plain forward passes over all forwarded texts would take.
    """

    asked: int = 0
    forwarded: int = 0
    wall: float = 0.0
    busy: float = 0.0
    floor: float = 0.0
    scored: int = 0
    scoring: float = 0.0
    jobs: int = 1
    device: str = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRecord(Record):
    """The result of a transfer study: of `totals[s][t]` adversarial texts of source s, target t gets `hits` wrong.

    Of them t had `before` right in the original, and `carried` of those it now gets wrong. On the diagonal stands the
    second of each model, trained from another seed: its base rate. None where there is none.
    """

    recipe: str
    data: str
    data_spec: str  # as it was typed
    trained_on: str  # what zoo names were trained on; empty where there are none
    texts: int
    wanted: int
    seed: int
    split: str
    columns: dict[str, str | None]
    settings: dict[str, Any]
    labels: tuple[str, ...]
    models: tuple[TransferModel, ...]
    hits: tuple[Row, ...]
    totals: tuple[Row, ...]
    before: tuple[Row, ...]
    carried: tuple[Row, ...]
    factors: tuple[Factor, ...] = ()
    order: tuple[str, ...] = ()  # of the factors, the largest first
    order_share: float | None = None  # of the resamples, how many have the paper's order
    tables: tuple[ClassTable, ...] = ()
    base: Estimate | None = None  # mean of the base rates
    pairs: Estimate | None = None  # mean over all pairs of two models
    speed: Speed = Speed()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        many = len(self.models)
        for name in ("hits", "totals", "before", "carried"):
            if [len(row) for row in getattr(self, name)] != [many] * many:
                raise ValueError(f"{name} is not {many} by {many}")

    def rate(self, source: int, target: int) -> Rate | None:
        hits, total = self.hits[source][target], self.totals[source][target]
        return None if hits is None or not total else Rate(hits, total)
