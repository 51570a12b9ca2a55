"""What people's answers add up to, as `humans score` writes it and the report reads it: humans.json."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from malaprop.core.errors import RecordError
from malaprop.records.documents import write_whole
from malaprop.records.summary import Rate

FILE = "humans.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}% ({100 * self.low:.1f} to {100 * self.high:.1f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
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
    drop: Estimate | None
    median_drop: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """Two systems on the same texts: in how many each is ahead, and the sign test of that, ties left out."""

    a: str
    b: str
    ahead_a: int
    ahead_b: int
    ties: int
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """How often a system's text was chosen of two, and that relative to the system chosen most."""

    name: str
    votes: Rate
    relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    systems: tuple[Chosen, ...]
    duels: tuple[Duel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """Ratings from 1 to 5 of a system's texts: the share of 4 and 5, and the mean."""

    name: str
    high: Rate
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    systems: tuple[Rated, ...]
    duels: tuple[Duel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Attack success; how many of the successes judged kept their label for most people; both multiplied."""

    name: str
    success: Rate
    kept: Rate
    adjusted: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A rater whose answers do not count, and how many attention checks were right."""

    rater: str
    right: int
    checks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanScores:
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
    agreement: tuple[Agreement, ...]
    validity: tuple[Validity, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": "human scores", "version": VERSION, **_plain(self)}

    def write(self, folder: Path) -> Path:
        return write_whole(folder / FILE, json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> HumanScores:
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise RecordError(f"cannot read {path}: {error}; write it again with malaprop humans score") from None
        if not isinstance(plain, dict) or plain.get("kind") != "human scores" or plain.get("version") != VERSION:
            raise RecordError(f"{path} is no record of human scores; write it again with malaprop humans score")
        try:
            made = _made(cls, plain, "")
        except RecordError as error:
            raise RecordError(f"{path}: {error}; write it again with malaprop humans score") from None
        assert isinstance(made, cls)
        return made


def find_scores(folders: Iterable[Path]) -> list[Path]:
    """Every humans.json at or below the folders, sorted within each, each once."""
    return list(dict.fromkeys(path for folder in folders for path in sorted(folder.rglob(FILE))))


def _plain(value: Any) -> Any:
    if isinstance(value, Rate):
        return {**value.to_dict(), "units": value.units}
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return round(value, 6) if isinstance(value, float) else value


def _made(kind: Any, value: Any, where: str) -> Any:
    """A value of this type from JSON's own, or an error that names the place."""
    if isinstance(kind, UnionType):
        return None if value is None else _made(get_args(kind)[0], value, where)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_made(get_args(kind)[0], v, where) for v in value)
    if is_dataclass(kind) and isinstance(value, dict):
        hints = get_type_hints(kind)
        if missing := [name for name in hints if name not in value]:
            raise RecordError(f"{where or 'the record'} lacks {missing[0]!r}")
        return kind(**{name: _made(hint, value[name], name) for name, hint in hints.items()})  # type: ignore[operator]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if (kind is float and number) or (kind is int and number and int(value) == value) or kind is type(value):
        return kind(value)
    raise RecordError(f"{where or 'the record'} is {str(value)[:40]!r}, which was not expected")
