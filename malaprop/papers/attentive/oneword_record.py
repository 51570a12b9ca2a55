"""The record of a study of one-word attacks: models, success of each recipe, measures, and comparisons."""

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
        """Return the mean with its interval; None for no numbers."""
        found = list(numbers)
        if not found:
            return None
        middle = fmean(found)
        half = Z95 * stdev(found) / sqrt(len(found)) if len(found) > 1 else 0.0
        return cls(middle, middle - half, middle + half, len(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordModel:
    """One model: its accuracy on the examined test texts; `kin` is what the paper calls a model of its kind."""

    name: str
    accuracy: Rate
    kin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordCell:
    """The result of one recipe on one model.

    `share` is the mean share of successful trials, for `random`. `halves` are the success rates on the shorter or less
    confident half of the texts (by `length`, by `confidence`) and on the other half. `reason` says why it did not run.
    """

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
    """The comparison of two recipes by one measure, on the texts where both succeed.

    `gap` is the mean of the second minus the first.
    """

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
    """The success of a recipe within each distance (L1, in the vector that the victim's classifier reads).

    The distances are the deciles of those of the first of two recipes, so that both can be compared.
    """

    model: str
    recipe: str
    points: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordRecord(Record):
    """The result of a one-word study: a cell for each recipe and model, and how recipes compare.

    All models classified `examined` test texts; `common` is how many all of them have right; `texts` were attacked.
    """

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
