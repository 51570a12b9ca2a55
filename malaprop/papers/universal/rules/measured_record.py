"""The record of rules put to texts and victims: how far each file of rules carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from malaprop.core.codec import Real
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell:
    """One file of rules on one victim: `words` is the share of words changed in broken texts.

    `within` is the success where at most so large a share of the words, its key, may change.
    """

    rules: str
    victim: str
    success: Rate
    words: Spread
    within: dict[str, Rate]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRules:
    """One file of rules over all victims: the mean of their success, with a 95% interval by drawing texts anew.

    `ahead` is by how much it beats the first file, drawn on the same texts; the victims are taken as they are.
    `everywhere`: of the texts that all victims have right, how many break on all of them.
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
    """All files on all victims; `share` is the most words that might change."""

    data: str
    n: int
    share: float
    files: tuple[str, ...]
    cells: tuple[MeasuredCell, ...]
    wholes: tuple[MeasuredRules, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, rates with their intervals."""
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
