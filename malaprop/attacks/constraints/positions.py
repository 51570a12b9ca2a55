"""Constraints on slots: which words may change at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepStopWords:
    """Function words stay: they carry the grammar. `extra` adds words of one's own."""

    extra: tuple[str, ...] = ()
    stage: ClassVar[Literal["slot"]] = "slot"

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        from malaprop.assets.lexicon import stop_words

        kept = stop_words() | {word.lower() for word in self.extra}
        strings = trial.origin.strings
        return np.asarray([strings[s].lower() not in kept for s in slots.tolist()], np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongWords:
    """Only words of at least `least` characters change."""

    least: int = 3
    stage: ClassVar[Literal["slot"]] = "slot"

    def __post_init__(self) -> None:
        if self.least < 1:
            raise SettingError(f"LongWords.least must be at least 1, got {self.least}")

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        strings = trial.origin.strings
        return np.asarray([len(strings[s]) >= self.least for s in slots.tolist()], np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstWords:
    """Only the first `count` words of each field change, as where a victim reads no further."""

    count: int = 512
    stage: ClassVar[Literal["slot"]] = "slot"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SettingError(f"FirstWords.count must be at least 1, got {self.count}")

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        fields = trial.origin.field_of_slots()
        return np.asarray(slots - np.searchsorted(fields, fields[slots]) < self.count)
