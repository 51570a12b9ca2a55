"""Passes: forward and backward passes over texts, pooled over all attacks in flight and counted with their queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.gradient import CharLook, CharSeen, Gradients, WordLook, WordSeen
from malaprop.core.pool import Pool
from malaprop.core.variants import Variants
from malaprop.engine.service import Scoring, Tally

Look = CharLook | WordLook
Seen = CharSeen | WordSeen


class Passes:
    """Answers looks. A text that was looked at counts as forwarded, in the counters of `scoring`."""

    def __init__(self, gradients: Gradients, scoring: Scoring) -> None:
        self.gradients, self.scoring = gradients, scoring

    def begin(self, asks: Sequence[Sequence[Look]]) -> list[Sequence[Look]]:
        return list(asks)

    def finish(self, pending: list[Sequence[Look]]) -> list[list[Seen]]:
        looks = [look for ask in pending for look in ask]
        chars = iter(self.gradients.chars([look for look in looks if isinstance(look, CharLook)]))
        words = iter(self.gradients.words([look for look in looks if isinstance(look, WordLook)]))
        seen: list[Seen] = [next(chars) if isinstance(look, CharLook) else next(words) for look in looks]
        if not all(np.isfinite(one.answer).all() for one in seen):
            raise VictimError("the victim answered with scores that are not finite numbers (NaN or infinity)")
        self._count(looks)
        found = iter(seen)
        return [[next(found) for _ in ask] for ask in pending]

    def _count(self, looks: Sequence[Look]) -> None:
        keys = Pool([Variants.itself(look.text) for look in looks]).keys().view(np.int64)
        for at, look in enumerate(looks):
            tally = self.scoring.tallies.setdefault(look.text.owner, Tally())
            tally.keys.append(keys[at : at + 1])
            tally.forwarded += 1
        self.scoring.clock.forwarded += len(looks)
