"""The service for gradients: forward and backward passes, pooled over all attacks and counted with their queries."""

from __future__ import annotations

from collections.abc import Sequence

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
from malaprop.core.pool import Pool
from malaprop.core.variants import Variants
from malaprop.engine.service import Scoring, Tally

Look = CharLook | WordLook | SlotLook | MixLook
Seen = CharSeen | WordSeen | SlotSeen | MixSeen


class GradientService:
    """Answers requests for gradients; each text counts as a model call in the counters of `scoring`."""

    def __init__(self, gradients: Gradients, scoring: Scoring) -> None:
        self.gradients, self.scoring = gradients, scoring

    def begin(self, asks: Sequence[Sequence[Look]]) -> list[Sequence[Look]]:
        return list(asks)

    def finish(self, pending: list[Sequence[Look]]) -> list[list[Seen]]:
        looks = [look for ask in pending for look in ask]
        seen = self._answer(looks)
        if not all(np.isfinite(one.answer).all() for one in seen):
            raise VictimError("the victim answered with scores that are not finite numbers (NaN or infinity)")
        self._count(looks)
        found = iter(seen)
        return [[next(found) for _ in ask] for ask in pending]

    def _answer(self, looks: Sequence[Look]) -> list[Seen]:
        """Answer the requests of each kind together; a victim need not know kinds that no attack uses."""
        out: dict[int, Seen] = {}
        for kind, name in ((CharLook, "chars"), (WordLook, "words"), (SlotLook, "slots"), (MixLook, "mixes")):
            mine = [i for i, look in enumerate(looks) if isinstance(look, kind)]
            if mine:
                out |= zip(mine, getattr(self.gradients, name)([looks[i] for i in mine]), strict=True)
        return [out[i] for i in range(len(looks))]

    def _count(self, looks: Sequence[Look]) -> None:
        keys = Pool([Variants.itself(look.text) for look in looks]).keys().view(np.int64)
        for at, look in enumerate(looks):
            tally = self.scoring.tallies.setdefault(look.text.owner, Tally())
            tally.keys.append(keys[at : at + 1])
            many = len(look.shares) if isinstance(look, MixLook) else 1
            tally.forwarded += many
            self.scoring.clock.forwarded += many
