"""Candidates from several sources at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.attack import Candidates
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """What any of several sources offers for a slot, each word once."""

    of: tuple[Candidates, ...]

    def __post_init__(self) -> None:
        if not self.of:
            raise SettingError("Union wants at least one source of candidates, got none")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        found: list[list[Ints]] = []
        for source in self.of:
            found += [(yield from source.words(trial, slots))]
        strings = trial.origin.table.strings
        return [
            np.asarray(sorted({*np.concatenate(rows).tolist()}, key=strings.__getitem__), np.int64)
            for rows in zip(*found, strict=True)
        ]
