"""Projection: replacements by how far they bring the victim's own vector to the border."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from malaprop.attacks.ranking.order import Ranking, UnknownWord
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.insight import Toward
from malaprop.core.score import ranked
from malaprop.core.variants import Variants

_SLACK = 1e-5  # of the largest projection: what the rounding of a batch moves, and must not decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Slot by slot in a ranking's order: of its replacements the one that moves the vector which the victim's
    classifier reads farthest along the shortest way to the border, if it moves that way at all (Meng and Wattenhofer
    2020). The way is found anew after every replacement; every replacement that is looked at counts as a query.
    """

    rank: Ranking = field(default_factory=UnknownWord)

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        now = start
        plan = yield from self.rank.order(trial, start, space.able())
        for slot, words in zip(plan.slots.tolist(), plan.words, strict=True):
            variants = Variants.at(now.text, slot, words)
            variants = variants.keep(trial.allows(variants))
            variants = variants.first(trial.spend(variants.count))
            if not variants.count:
                continue
            look = Toward(origin=now.text, variants=variants, label=trial.example.label)
            (moves,) = yield Ask("toward", [look])
            slack = _SLACK * float(np.abs(moves).max())
            order = ranked(moves, slack=slack)
            order = order[moves[order] > slack]
            for index in order.tolist():
                text = variants.pick(index)
                if (yield from trial.admit([text])).all():
                    (scored,) = yield from trial.score([Variants.itself(text)])
                    yield from trial.settle([scored], [range(len(scored.values))])
                    now = trial.take(scored, 0) if len(scored.values) else now
                    break
            if now.reached:
                break
        return now if now.reached else trial.held or now
