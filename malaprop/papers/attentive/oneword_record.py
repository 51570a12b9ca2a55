"""The record of a study of one-word attacks: what its runs add up to, as tables read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Z95, Rate, Spread

FILE = "oneword.json"


@dataclass(frozen=True, slots=True)
class OneWordMean:
    """A mean over `count` texts with its 95% interval, by the normal's points; of one text the interval is the mean."""

    value: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, numbers: Iterable[float]) -> OneWordMean | None:
        """None of nothing."""
        found = list(numbers)
        if not found:
            return None
        middle = fmean(found)
        half = Z95 * stdev(found) / sqrt(len(found)) if len(found) > 1 else 0.0
        return cls(middle, middle - half, middle + half, len(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordModel:
    """One model: its accuracy on the test texts looked at; `kin` is what the paper calls a model of its kind."""

    name: str
    accuracy: Rate
    kin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordCell:
    """One recipe on one model. `share` is the mean share of trials that worked, for `random`; `halves` are the rates of
    success on the half of the texts that is shorter or less sure (by `length`, by `confidence`) and on the other;
    `reason` says why there is nothing else."""

    model: str
    recipe: str
    success: Rate
    share: OneWordMean | None = None
    asked: Spread = field(default_factory=lambda: Spread(None, None))
    distance: OneWordMean | None = None
    measures: Mapping[str, OneWordMean] | None = None
    halves: Mapping[str, tuple[Rate, Rate]] = field(default_factory=dict)
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
    gap: OneWordMean
    lower: Rate  # texts where the second is lower


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceCurve:
    """Of the texts that a recipe was tried on, those that it breaks within a distance, L1 in the victim's own vector.

    The distances are the deciles of what the first of two recipes needs, so that both can be held beside each other.
    """

    model: str
    recipe: str
    points: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordRecord(Record):
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
    models: tuple[OneWordModel, ...]
    cells: tuple[OneWordCell, ...]
    against: tuple[Against, ...] = ()
    curves: tuple[DistanceCurve, ...] = ()

    @property
    def recipes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.recipe for cell in self.cells))

    def cell(self, model: str, recipe: str) -> OneWordCell | None:
        return next((c for c in self.cells if (c.model, c.recipe) == (model, recipe)), None)
