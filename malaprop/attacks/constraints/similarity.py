"""Sentence similarity against the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags, Floats, best
from malaprop.core.text import Text

ROUGH = 0.005  # how far the encoder's quick cosines may be off; within it the plain ones decide


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCosine:
    """The sentence encoder's vectors of the text and of the *original* have at least this cosine; of a pair, those of
    the fields that may change. Of texts of fewer than `least` words nothing is asked: one word is much of them.
    """

    floor: float = 0.7
    least: int = 0
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        if not -1 <= self.floor <= 1:
            raise SettingError(f"SentenceCosine.floor must lie in [-1, 1], got {self.floor}")
        if self.least < 0:
            raise SettingError(f"SentenceCosine.least must be at least 0, got {self.least}")

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        if len(trial.open()) < self.least:
            return np.ones(len(texts), np.bool_)
        cosines = yield from similarities(trial, texts, rough=True)
        unsure = np.flatnonzero(np.abs(cosines - self.floor) < ROUGH)
        cosines[unsure] = yield from similarities(trial, [texts[i] for i in unsure.tolist()])
        # a vector's last digits move with its batch; the slack keeps a border case on one side at any width
        return np.asarray(cosines >= self.floor - 1e-6)


def most_similar(trial: Trial, texts: Sequence[Text]) -> Steps[int]:
    """Which of the texts is most like the original."""
    if len(texts) == 1:
        return 0
    rough = yield from similarities(trial, texts, rough=True)
    top = np.flatnonzero(rough >= rough.max() - 2 * ROUGH)
    plain = yield from similarities(trial, [texts[i] for i in top.tolist()] if len(top) > 1 else [])
    return int(top[best(plain)] if len(top) > 1 else top[0])


def similarities(trial: Trial, texts: Sequence[Text], *, rough: bool = False) -> Steps[Floats]:
    """The cosine of each text with the original, by the sentence encoder; `rough`: within ROUGH of it, for less."""
    if not texts:
        return np.empty(0, np.float32)
    vectors = yield Ask(
        f"{trial.encoder}/rough" if rough else trial.encoder, list(map(trial.shown, [trial.origin, *texts]))
    )
    origin = np.asarray(vectors[0])
    return np.asarray([float(np.dot(origin, v)) for v in vectors[1:]], np.float32)
