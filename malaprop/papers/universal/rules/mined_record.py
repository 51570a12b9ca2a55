"""The record of malaprop rules mine: what rules were mined from and with, and the strongest of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from malaprop.attacks.rule_files import Rule
from malaprop.frame.records.kinds import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkageFigures:
    """How rules of few counts were drawn to zero: salience = mean x count / (count + strength)."""

    strength: float
    within: float | None = None
    between: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedRules:
    """What all texts added up to: `weighed` replacements of words, of which `rules` were kept.

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
    """Rules that lie beside this file, and how they were mined; `agreement` sets both methods side by side."""

    method: str
    victims: tuple[str, ...]
    data: str
    labels: tuple[str, ...]
    seed: int
    agreement: dict[str, Any] | None = None
