"""The record of a diagnosis: the strongest rules of each label, and how the data came to teach them."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

FILE = "diagnosis.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A text of the data that holds the word, from `start` to `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """A rule: bits of both words with each label, how often each stands under each label, and texts with the word."""

    word: str
    to: str
    salience: float
    count: int
    pmi: tuple[tuple[float, float], ...]
    seen: tuple[tuple[int, int], ...]
    sightings: tuple[Sighting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRules:
    """One label: of its strongest rules, one a word, how many take bits from the label and how many give to others."""

    label: str
    rules: int
    falls: Rate
    rises: Rate
    lines: tuple[RuleLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisRecord(Record):
    """`labels` are those of the data, in the order of `RuleLine.pmi`; `lacking` are labels of rules that it lacks."""

    rules: str
    data: str
    texts: int
    labels: tuple[str, ...]
    found: tuple[LabelRules, ...]
    lacking: tuple[str, ...] = ()
