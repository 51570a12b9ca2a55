"""What people's answers add up to, as `humans score` writes it and the report reads it: humans.json."""

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
    """How often people chose the true label of a system's texts; `drop` is from the originals to these.

    `answers` counts answers, with an interval over texts; `majority` counts texts by what most chose, ties as wrong;
    `median` is that of the raters' own accuracies.
    """

    name: str
    answers: Rate
    majority: Rate
    median: float | None
    drop: HumanEstimate | None
    median_drop: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDuel:
    """Two systems on the same texts: in how many each is ahead, and the sign test of that, ties left out."""

    a: str
    b: str
    ahead_a: int
    ahead_b: int
    ties: int
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSystem:
    """How often a system's text was chosen of two, and that relative to the system chosen most."""

    name: str
    votes: Rate
    relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    systems: tuple[ChosenSystem, ...]
    duels: tuple[SystemDuel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """Ratings from 1 to 5 of a system's texts: the share of 4 and 5, and the mean."""

    name: str
    high: Rate
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    systems: tuple[Rated, ...]
    duels: tuple[SystemDuel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Attack success; how many of the successes judged kept their label for most people; both multiplied."""

    name: str
    success: Rate
    kept: Rate
    adjusted: HumanEstimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A rater whose answers do not count, and how many attention checks were right."""

    rater: str
    right: int
    checks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HumansRecord(Record):
    """All figures of a study. What was not asked, or not answered, is null or empty."""

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
    readability: Contest | None
    similarity: Contest | None
    naturalness: Ratings | None
    meaning: Ratings | None
    agreement: tuple[RaterAgreement, ...]
    validity: tuple[Validity, ...]
    more_natural: Contest | None = None
    images: bool = False  # were judged, and no texts

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, rates with their intervals and numbers to six digits."""
        return {"kind": "human scores", "version": VERSION, **Record.to_dict(self), **_plain(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, Rate):
        return {**value.to_dict(), "units": value.units}
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return round(value, 6) if isinstance(value, float) else value
