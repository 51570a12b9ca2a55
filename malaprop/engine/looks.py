"""Services for what a victim shows beside its scores, such as gradients and attention, pooled over all attacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.gradient import (
    CharLook,
    CharSeen,
    Gradients,
    MixLook,
    MixSeen,
    SlotLook,
    SlotSeen,
    WordLook,
    WordSeen,
)
from malaprop.core.insight import Apart, Blank, Focus, Toward
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.variants import Variants
from malaprop.engine.service import Scoring, Tally

GradientLook = CharLook | WordLook | SlotLook | MixLook
GradientSeen = CharSeen | WordSeen | SlotSeen | MixSeen


class GradientService:
    """Answers requests for gradients; each text counts as a model call in the counters of `scoring`."""

    def __init__(self, gradients: Gradients, scoring: Scoring) -> None:
        self.gradients, self.scoring = gradients, scoring

    def begin(self, asks: Sequence[Sequence[GradientLook]]) -> list[Sequence[GradientLook]]:
        return list(asks)

    def finish(self, pending: list[Sequence[GradientLook]]) -> list[list[GradientSeen]]:
        looks = [look for ask in pending for look in ask]
        seen = self._answer(looks)
        if not all(np.isfinite(one.answer).all() for one in seen):
            raise VictimError("the victim answered with scores that are not finite numbers (NaN or infinity)")
        self._count(looks)
        found = iter(seen)
        return [[next(found) for _ in ask] for ask in pending]

    def _answer(self, looks: Sequence[GradientLook]) -> list[GradientSeen]:
        """Answer the requests of each kind together; a victim need not know kinds that no attack uses."""
        out: dict[int, GradientSeen] = {}
        for kind, name in ((CharLook, "chars"), (WordLook, "words"), (SlotLook, "slots"), (MixLook, "mixes")):
            mine = [i for i, look in enumerate(looks) if isinstance(look, kind)]
            if mine:
                out |= zip(mine, getattr(self.gradients, name)([looks[i] for i in mine]), strict=True)
        return [out[i] for i in range(len(looks))]

    def _count(self, looks: Sequence[GradientLook]) -> None:
        keys = Pool([Variants.itself(look.text) for look in looks]).keys().view(np.int64)
        for at, look in enumerate(looks):
            tally = self.scoring.tallies.setdefault(look.text.owner, Tally())
            tally.keys.append(keys[at : at + 1])
            many = len(look.shares) if isinstance(look, MixLook) else 1
            tally.forwarded += many
            self.scoring.clock.forwarded += many


InsightLook = Focus | Apart | Toward | Blank


class InsightService:
    """Answers requests of one kind with `answer`; each text that the victim reads for it counts as a model call."""

    def __init__(self, answer: Callable[[Sequence[Any]], list[Floats]], scoring: Scoring) -> None:
        self.answer, self.scoring = answer, scoring

    def begin(self, asks: Sequence[Sequence[InsightLook]]) -> list[Sequence[InsightLook]]:
        return list(asks)

    def finish(self, pending: list[Sequence[InsightLook]]) -> list[list[Floats]]:
        looks = [look for ask in pending for look in ask]
        found = self.answer(looks)
        if len(found) != len(looks):
            raise RuntimeError(f"a victim answered {len(found)} of {len(looks)} looks")
        for look in looks:
            self._count(look)
        answers = iter(found)
        return [[next(answers) for _ in ask] for ask in pending]

    def _count(self, look: InsightLook) -> None:
        text = look.origin if isinstance(look, Apart | Toward) else look.text
        tally = self.scoring.tallies.setdefault(text.owner, Tally())
        many = count_texts(look)
        tally.forwarded += many
        self.scoring.clock.forwarded += many


def count_texts(look: InsightLook) -> int:
    """Return how many texts the victim reads for a request."""
    if isinstance(look, Apart | Toward):
        return 1 + look.variants.count
    return len(look.slots) if isinstance(look, Blank) else 1
