"""The record of an ensemble study: which ensembles were chosen, and how their adversarial texts carried over."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.papers.universal.record import Row

FILE = "ensembles.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEnsemble:
    """One ensemble. `fitness` is computed from the transfer matrix; the rest was measured by attacking the ensemble.

    `hits` of `totals` texts are wrong for each model of the study, None for members. `outside` is the mean over models
    that are no members, `common` over those in none of the ensembles of that size, `unseen` over those that the choice
    did not know; None where there are none, or where the ensemble broke no text.
    """

    size: int
    how: str
    members: tuple[str, ...]
    fitness: float
    counts: dict[str, int]
    drawn: int
    hits: Row
    totals: Row
    outside: Estimate | None
    common: Estimate | None
    unseen: Estimate | None

    @property
    def success(self) -> Rate:
        won = self.counts.get("success", 0)
        return Rate(won, won + self.counts.get("failed", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The difference in transfer rate between two ensembles, over models outside both."""

    size: int
    first: str
    second: str
    difference: Estimate
    targets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsemblesRecord(Record):
    """`upper` is the mean of the base rates, `lower` the mean over all pairs of models: the lines of Figure 1."""

    recipe: str
    data: str
    texts: int
    wanted: int
    seed: int
    models: tuple[str, ...]
    unseen: tuple[str, ...]
    upper: Estimate | None
    lower: Estimate | None
    chosen: tuple[ChosenEnsemble, ...]
    contrasts: tuple[Contrast, ...] = ()
    notes: tuple[str, ...] = ()
