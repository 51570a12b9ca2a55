"""Blind search: everything a ranking wants, asked once at the end."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.attacks.ranking.order import Ranking
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """Takes the first replacement of each slot in a ranking's order as long as the edits are allowed; one query."""

    rank: Ranking

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        plan = yield from self.rank.order(trial, start, space)
        text = start.text
        for slot, words in zip(plan.slots.tolist(), plan.words, strict=True):
            edit = Variants.at(text, slot, words[:1])
            if edit.count and trial.allows(edit).all():
                text = edit.pick(0)
        if not len(text.changed(start.text)):
            return start
        (scored,) = yield from trial.score([Variants.between(start.text, [text])])
        (found,) = yield from trial.choose([scored], [None])
        return found or start
