"""The records of the rule commands: rules that were mined, rules measured on victims, and rules beside the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from malaprop.attacks.rule_files import Rule
from malaprop.core.codec import Real
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkageFigures:
    """How rules with few counts were shrunk towards zero: salience = mean x count / (count + strength)."""

    strength: float
    within: float | None = None
    between: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedRules:
    """The counts over all texts: `weighed` measured replacements of words, of which `rules` were kept as rules.

    `reasons` says why texts were left out, and how many; `seconds` are those of finding replacements and of asking the
    victims, in all processes together.
    """

    texts: int
    left_out: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    replacements: int
    weighed: int
    rules: int
    by_label: Mapping[str, int]
    shrinkage: ShrinkageFigures
    seconds: Mapping[str, float]
    processor_seconds: float
    strongest: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedRecord(WeighedRules, Record):
    """How the rules beside this file were mined, and the strongest of them; `agreement` compares both methods."""

    method: str
    victims: tuple[str, ...]
    data: str
    labels: tuple[str, ...]
    seed: int
    agreement: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell:
    """One file of rules on one victim: `words` is the share of words changed in the successes.

    `within` is the success where at most so large a share of the words, its key, may change.
    """

    rules: str
    victim: str
    success: Rate
    words: Spread
    within: dict[str, Rate]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRules:
    """One file of rules over all victims: the mean of their success, with a 95% interval by resampling texts.

    `ahead` is the difference to the first file's mean, resampled on the same texts; victims are not resampled.
    `everywhere`: of the texts that all victims classify correctly, on how many the rules succeed against all.
    """

    rules: str
    mean: Real
    low: Real
    high: Real
    words: float | None
    ahead: tuple[Real, Real, Real] | None
    everywhere: Rate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRecord(Record):
    """The result of measuring rules: all files on all victims; `share` is the largest share of words to change."""

    data: str
    n: int
    share: float
    files: tuple[str, ...]
    cells: tuple[MeasuredCell, ...]
    wholes: tuple[MeasuredRules, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, rates with their intervals."""
        cells = [
            {
                "rules": cell.rules,
                "victim": cell.victim,
                "success": cell.success.to_dict(),
                "words": cell.words.to_dict(),
                "within": {share: rate.to_dict() for share, rate in cell.within.items()},
            }
            for cell in self.cells
        ]
        return {**Record.to_dict(self), "cells": cells}


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
    """How rules relate to the data, by label.

    `labels` are those of the data, in the order of `RuleLine.pmi`; `lacking` are labels of rules that it lacks.
    """

    rules: str
    data: str
    texts: int
    labels: tuple[str, ...]
    found: tuple[LabelRules, ...]
    lacking: tuple[str, ...] = ()
