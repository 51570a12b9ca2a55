"""Overlap with the original: measures of translation, with the original as the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class BleuFloor:
    """Sentence BLEU of the text against the original is at least this, from 0 to 100: few words and no run change."""

    floor: float = 50.0
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        _check("BleuFloor", self.floor)

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.models import bleu

        return _reach(trial, texts, bleu.sentence, self.floor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChrfFloor:
    """chrF of the text against the original is at least this, from 0 to 100: a letter costs less than a word."""

    floor: float = 70.0
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        _check("ChrfFloor", self.floor)

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.models import chrf

        return _reach(trial, texts, chrf.sentence, self.floor)


def _check(name: str, floor: float) -> None:
    if not 0 <= floor <= 100:
        raise SettingError(f"{name}.floor must lie in [0, 100], got {floor}")


def _reach(trial: Trial, texts: Sequence[Text], measure: Callable[[str, str], float], floor: float) -> Flags:
    origin = trial.shown(trial.origin)
    return np.asarray([measure(trial.shown(text), origin) >= floor - 1e-9 for text in texts], np.bool_)
