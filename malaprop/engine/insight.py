"""The service for attention, embeddings and zero vectors, pooled over all attacks and counted with their queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from malaprop.core.insight import Apart, Blank, Focus, Toward
from malaprop.core.score import Floats
from malaprop.engine.service import Scoring, Tally

Look = Focus | Apart | Toward | Blank


class Insight:
    """Answers requests of one kind with `answer`; each text that the victim reads for it counts as a model call."""

    def __init__(self, answer: Callable[[Sequence[Any]], list[Floats]], scoring: Scoring) -> None:
        self.answer, self.scoring = answer, scoring

    def begin(self, asks: Sequence[Sequence[Look]]) -> list[Sequence[Look]]:
        return list(asks)

    def finish(self, pending: list[Sequence[Look]]) -> list[list[Floats]]:
        looks = [look for ask in pending for look in ask]
        found = self.answer(looks)
        if len(found) != len(looks):
            raise RuntimeError(f"a victim answered {len(found)} of {len(looks)} looks")
        for look in looks:
            self._count(look)
        answers = iter(found)
        return [[next(answers) for _ in ask] for ask in pending]

    def _count(self, look: Look) -> None:
        text = look.origin if isinstance(look, Apart | Toward) else look.text
        tally = self.scoring.tallies.setdefault(text.owner, Tally())
        many = count_texts(look)
        tally.forwarded += many
        self.scoring.clock.forwarded += many


def count_texts(look: Look) -> int:
    """Return how many texts the victim reads for a request."""
    if isinstance(look, Apart | Toward):
        return 1 + look.variants.count
    return len(look.slots) if isinstance(look, Blank) else 1
