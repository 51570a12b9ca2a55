"""Greedy search: slot by slot in a ranking's order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from malaprop.attacks.ranking.order import LeaveOneOut, Ranking
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.score import Scored, best
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """Takes the best replacement of each slot if it gains, until the goal is reached.

    `always` takes it also where it does not gain (Ren et al. 2019). `nearest` ends with the most similar of the texts
    that reach the goal in the last slot, not with the surest (Jin et al. 2019).
    """

    rank: Ranking = field(default_factory=LeaveOneOut)
    always: bool = False
    nearest: bool = False

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        now = start
        plan = yield from self.rank.order(trial, start, space)
        for slot, words in zip(plan.slots.tolist(), plan.words, strict=True):
            if not len(words):
                continue
            (scored,) = yield from trial.score([Variants.at(now.text, slot, words)])
            if self.nearest and scored.reached.any():
                found = yield from _nearest(trial, scored)
            else:
                (found,) = yield from trial.choose([scored], [None if self.always else now.value])
            if found is not None:
                now = found
                if now.reached:
                    break
        return now


def _nearest(trial: Trial, scored: Scored) -> Steps[Held | None]:
    """Of the allowed texts that reach the goal, the one most like the original; else the best of the rest."""
    hits = np.flatnonzero(scored.reached)
    texts = [scored.variants.pick(i) for i in hits.tolist()]
    flags = yield from trial.admit(texts)
    if not flags.any():
        rest = ~scored.reached
        others = Scored(scored.variants.keep(rest), scored.answers[rest], scored.values[rest], scored.reached[rest])
        return (yield from trial.choose([others], [trial.held.value if trial.held else None]))[0]
    kept = [i for i, fine in enumerate(flags.tolist()) if fine]
    vectors = yield Ask("encoder", [str(trial.origin), *(str(texts[i]) for i in kept)])
    similarity = np.asarray([float(np.dot(vectors[0], v)) for v in vectors[1:]], np.float32)
    return trial.take(scored, int(hits[kept[best(similarity)]]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFound:
    """One slot at a time in a ranking's order, earlier words restored: the first replacement that reaches the goal."""

    rank: Ranking

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        plan = yield from self.rank.order(trial, start, space)
        for slot, words in zip(plan.slots.tolist(), plan.words, strict=True):
            if not len(words):
                continue
            (scored,) = yield from trial.score([Variants.at(start.text, slot, words)])
            (found,) = yield from trial.choose([scored], [start.value])
            if found is not None and found.reached:
                return found
        return trial.held or start
