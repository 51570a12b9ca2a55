"""Perplexity: how much less fluent a text is than the texts that a detector was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from malaprop.core.text import Text
from malaprop.core.victim import Victim
from malaprop.features.defending.detection.suspicion import Learnt, Lessons, Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Perplexity:
    """The logarithm of a text's perplexity over that of the usual text of the fit: 0.7 is twice as surprising.

    The causal language model is the packaged SmolLM2, the one of `--measure perplexity`.
    """

    needs_attacked: ClassVar[bool] = False
    counts_words: ClassVar[bool] = False

    def check(self, victim: Victim) -> None:
        """Accept any victim: perplexity needs no answer of it."""

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        del victim
        return Learnt({"usual": np.asarray([np.median(_measure(lessons.clean))])})

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        del victim, exact
        return np.asarray(_measure(texts) - float(learnt.arrays["usual"][0]))

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        del victim, learnt, text
        return 0


def _measure(texts: Sequence[Text]) -> Numbers:
    strings = [" ".join(text.values()) for text in texts]
    return np.log(np.asarray(_language_model().perplexity(strings), np.float64)) if strings else np.empty(0)


@cache
def _language_model() -> Any:
    from malaprop.models.encoders.language_model import open_language_model

    return open_language_model()
