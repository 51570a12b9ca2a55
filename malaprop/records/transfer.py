"""The record of a transfer study: who was attacked, what carried over to whom, and what that adds up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from malaprop.records.documents import Document
from malaprop.records.summary import Rate

FILE = "transfer.json"
_RECORD = Document(file=FILE, about="malaprop transfer", again="run it again")
Row = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is varied, one at a time."""

    architecture: str
    input: str
    embedding: str
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that is source and target. `spec` is what `--victims` takes; `second` names one of another seed.

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
    """Mean absolute difference to the base rate over pairs that differ in one trait.

    `noise` is what that mean would be about if there were no difference at all, from the counts behind each rate.
    """

    name: str
    about: str
    mean: Estimate
    noise: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Mean rates between classes of models, sources down and targets across; None where there is no pair."""

    name: str
    classes: tuple[str, ...]
    models: tuple[int, ...]  # of each class
    cells: tuple[tuple[Estimate | None, ...], ...]
    sources: tuple[float | None, ...]  # mean of each row
    targets: tuple[float | None, ...]  # mean of each column


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """`floor` seconds would plain forward passes take over all that was forwarded, `busy` the attacks took of all
    processes together, `wall` by the clock."""

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
class Transfer:
    """Row s, column t: of `totals` adversarial texts of source s, target t gets `hits` wrong.

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
    models: tuple[Model, ...]
    hits: tuple[Row, ...]
    totals: tuple[Row, ...]
    before: tuple[Row, ...]
    carried: tuple[Row, ...]
    factors: tuple[Factor, ...] = ()
    order: tuple[str, ...] = ()  # of the factors, the largest first
    order_share: float | None = None  # of the resamples, how many have the paper's order
    tables: tuple[Table, ...] = ()
    base: Estimate | None = None  # mean of the base rates
    pairs: Estimate | None = None  # mean over all pairs of two models
    speed: Speed = Speed()
    notes: tuple[str, ...] = ()

    def rate(self, source: int, target: int) -> Rate | None:
        hits, total = self.hits[source][target], self.totals[source][target]
        return None if hits is None or not total else Rate(hits, total)

    def write(self, folder: Path) -> Path:
        return _RECORD.write(folder, asdict(self), indent=None)

    @classmethod
    def read(cls, folder: Path) -> Transfer | None:
        """None where the folder holds none."""
        return _RECORD.read(folder, _transfer)


def estimate(raw: Sequence[float] | Mapping[str, float] | None) -> Estimate | None:
    return None if raw is None else Estimate(*(float(raw[key]) for key in ("value", "low", "high")))  # type: ignore[call-overload]


def _model(raw: dict[str, Any]) -> Model:
    traits = raw.pop("traits")
    return Model(**raw, traits=None if traits is None else Traits(**traits))


def _table(raw: dict[str, Any]) -> Table:
    raw["cells"] = [tuple(estimate(cell) for cell in row) for row in raw["cells"]]
    return Table(**tuples(raw))


def tuples(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Lists, which is all JSON has, as the tuples that records hold."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}


def _transfer(raw: dict[str, Any]) -> Transfer:
    many = len(raw["models"])
    for name in ("hits", "totals", "before", "carried"):
        raw[name] = tuple(tuple(None if v is None else int(v) for v in row) for row in raw[name])
        if len(raw[name]) != many or any(len(row) != many for row in raw[name]):
            raise ValueError(f"{name} is not {many} by {many}")
    raw["models"] = tuple(map(_model, raw["models"]))
    raw["factors"] = tuple(Factor(**{**f, "mean": estimate(f["mean"])}) for f in raw["factors"])
    raw["tables"] = tuple(map(_table, raw["tables"]))
    raw["base"], raw["pairs"] = estimate(raw["base"]), estimate(raw["pairs"])
    raw["speed"] = Speed(**raw["speed"])
    for name in ("labels", "order", "notes"):
        raw[name] = tuple(map(str, raw[name]))
    return Transfer(**raw)
