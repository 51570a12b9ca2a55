"""The record of a human evaluation, humans.json: `malaprop humans score` writes it and the report reads it."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

FILE = "humans.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanEstimate:
    """A figure with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}% ({100 * self.low:.1f} to {100 * self.high:.1f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """Krippendorff's alpha of one question, over items with two answers or more; null where nothing varies."""

    question: str
    level: str
    alpha: float | None
    low: float | None
    high: float | None
    items: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How often raters chose the true label of a system's texts; `drop` is the difference from the originals.

    `answers` is the share of answers, with an interval over texts; `majority` the share of texts by majority vote, ties
    as wrong; `median` the median of the raters' own accuracies.
    """

    name: str
    answers: Rate
    majority: Rate
    median: float | None
    drop: HumanEstimate | None
    median_drop: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDuel:
    """Two systems compared on the same texts: on how many each is ahead, and a sign test without the ties."""

    a: str
    b: str
    ahead_a: int
    ahead_b: int
    ties: int
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSystem:
    """How often raters chose a system's text of a pair, and that share relative to the most chosen system's."""

    name: str
    votes: Rate
    relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseChoices:
    """The pairs that raters compared, by chosen system."""

    systems: tuple[ChosenSystem, ...]
    duels: tuple[SystemDuel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedSystem:
    """The ratings from 1 to 5 of one system's texts: the share of 4 and 5, and the mean."""

    name: str
    high: Rate
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """The ratings by system."""

    systems: tuple[RatedSystem, ...]
    duels: tuple[SystemDuel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Attack success, the share of judged successes that keep their label by majority vote, and their product."""

    name: str
    success: Rate
    kept: Rate
    adjusted: HumanEstimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A rater who failed the attention checks and is excluded, with the number of checks answered correctly."""

    rater: str
    right: int
    checks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HumansRecord(Record):
    """All figures of a human evaluation; those of questions without answers are null or empty."""

    study: str
    created: str
    seed: int
    ask: tuple[str, ...]
    systems: tuple[str, ...]
    pass_mark: float
    invited: int
    answered: int
    left_out: tuple[LeftOut, ...]
    counted: int
    expected: int
    accuracy: tuple[Accuracy, ...]
    readability: PairwiseChoices | None
    similarity: PairwiseChoices | None
    naturalness: Ratings | None
    meaning: Ratings | None
    agreement: tuple[RaterAgreement, ...]
    validity: tuple[Validity, ...]
    more_natural: PairwiseChoices | None = None
    images: bool = False  # whether raters judged images instead of texts

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, rates with their intervals and numbers to six digits."""
        return {"kind": "human scores", "version": VERSION, **Record.to_dict(self), **_plain(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, Rate):
        return {**value.to_dict(), "units": value.units}
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return round(value, 6) if isinstance(value, float) else value
