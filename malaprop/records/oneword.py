"""The record of a study of one-word attacks: what its runs add up to, as tables read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from malaprop.records.documents import Document
from malaprop.records.summary import Z95, Rate, Spread

FILE = "oneword.json"
_RECORD = Document(file=FILE, about="a study of one-word attacks", again="run malaprop study again")


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over `count` texts with its 95% interval, by the normal's points; of one text the interval is the mean."""

    value: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, numbers: Iterable[float]) -> Mean | None:
        """None of nothing."""
        found = list(numbers)
        if not found:
            return None
        middle = fmean(found)
        half = Z95 * stdev(found) / sqrt(len(found)) if len(found) > 1 else 0.0
        return cls(middle, middle - half, middle + half, len(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked:
    """One model: its accuracy on the test texts looked at; `kin` is what the paper calls a model of its kind."""

    name: str
    accuracy: Rate
    kin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One recipe on one model. `share` is the mean share of trials that worked, for `random`; `reason` says why there
    is nothing else."""

    model: str
    recipe: str
    success: Rate
    share: Mean | None = None
    asked: Spread = field(default_factory=lambda: Spread(None, None))
    distance: Mean | None = None
    measures: Mapping[str, Mean] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One measure of two recipes on the texts that both broke; `gap` is the mean of the second less the first."""

    model: str
    first: str
    second: str
    measure: str
    before: float
    after: float
    gap: Mean
    lower: Rate  # texts where the second is lower


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """`examined` test texts were put to all models; `common` of them all answered correctly; `texts` were attacked."""

    data: str
    task: str  # sentiment (single texts) or entailment (pairs), as the paper's tables are called
    examined: int
    common: int
    texts: int
    vocabulary: int
    words: int
    trials: int
    seed: int
    models: tuple[Attacked, ...]
    cells: tuple[Cell, ...]
    against: tuple[Against, ...] = ()

    @property
    def recipes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.recipe for cell in self.cells))

    def cell(self, model: str, recipe: str) -> Cell | None:
        return next((c for c in self.cells if (c.model, c.recipe) == (model, recipe)), None)

    def write(self, folder: Path) -> Path:
        return _RECORD.write(folder, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Study | None:
        """None where the folder holds none."""
        return _RECORD.read(folder, _study)


def _study(raw: dict[str, Any]) -> Study:
    numbers = ("examined", "common", "texts", "vocabulary", "words", "trials", "seed")
    return Study(
        data=str(raw["data"]),
        task=str(raw["task"]),
        **{name: int(raw[name]) for name in numbers},
        models=tuple(
            Attacked(name=str(m["name"]), accuracy=_rate(m["accuracy"]), kin=str(m["kin"])) for m in raw["models"]
        ),
        cells=tuple(map(_cell, raw["cells"])),
        against=tuple(map(_against, raw["against"])),
    )


def _rate(raw: Mapping[str, Any]) -> Rate:
    return Rate(int(raw["hits"]), int(raw["total"]))


def _mean(raw: Mapping[str, Any] | None) -> Mean | None:
    if raw is None:
        return None
    return Mean(float(raw["value"]), float(raw["low"]), float(raw["high"]), int(raw["count"]))


def _cell(raw: Mapping[str, Any]) -> Cell:
    found = {str(name): _mean(mean) for name, mean in (raw["measures"] or {}).items()}
    return Cell(
        model=str(raw["model"]),
        recipe=str(raw["recipe"]),
        success=_rate(raw["success"]),
        share=_mean(raw["share"]),
        asked=Spread(**raw["asked"]),
        distance=_mean(raw["distance"]),
        measures={name: mean for name, mean in found.items() if mean is not None},
        reason=str(raw["reason"]),
    )


def _against(raw: Mapping[str, Any]) -> Against:
    gap = _mean(raw["gap"])
    if gap is None:
        raise ValueError("a comparison without a gap")
    return Against(
        **{name: str(raw[name]) for name in ("model", "first", "second", "measure")},
        before=float(raw["before"]),
        after=float(raw["after"]),
        gap=gap,
        lower=_rate(raw["lower"]),
    )
