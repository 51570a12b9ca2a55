"""Sentence similarity against the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCosine:
    """The sentence encoder's vectors of the text and of the *original* have at least this cosine; of a pair, those of
    the fields that may change.
    """

    floor: float = 0.7
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        if not -1 <= self.floor <= 1:
            raise SettingError(f"SentenceCosine.floor must lie in [-1, 1], got {self.floor}")

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        vectors = yield Ask(trial.encoder, list(map(trial.shown, [trial.origin, *texts])))
        origin = np.asarray(vectors[0])
        # a vector's last digits move with its batch; the slack keeps a border case on one side at any width
        return np.asarray([float(np.dot(origin, v)) >= self.floor - 1e-6 for v in vectors[1:]], np.bool_)
