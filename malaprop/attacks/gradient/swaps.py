"""SwapBeam: HotFlip's search over whole words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.gradient.look import aim, look
from malaprop.attacks.search.beam import best_of
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.gradient import WordLook, WordSeen
from malaprop.core.score import ranked
from malaprop.core.variants import Variants

_ROUNDING = 1e-5  # of the largest estimate: what a batch may move, and must not decide


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapBeam:
    """At each of `depth` steps one more word is changed. The derivative says which replacements are worth asking, the
    `tries` best of each text; of those the victim's own answer keeps the `width` best.

    `known` bars replacements that the victim has no word for. `exact` asks all replacements, derivative or not.
    """

    width: int = 10
    depth: int = 2
    tries: int = 10
    known: bool = True
    exact: bool = False

    def __post_init__(self) -> None:
        if min(self.width, self.depth, self.tries) < 1:
            raise SettingError("SwapBeam wants width, depth and tries of at least 1")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        able, beam = space.able(), [start]
        for _ in range(min(self.depth, len(able.slots))):
            groups = [_swaps(trial, member, able) for member in beam]
            groups = [group for group in groups if group.count]
            if not groups:
                break
            looks = [WordLook(variants=group, aim=aim(trial, odds=True), known=self.known) for group in groups]
            seen = yield from look(trial, looks)
            chosen = [self._best(group, one) for group, (one, _) in zip(groups, seen, strict=False)]
            scored = yield from trial.score(chosen)
            beam = yield from best_of(trial, scored, self.width)
            if not beam or beam[0].reached:
                break
        return trial.held or start

    def _best(self, group: Variants, seen: WordSeen) -> Variants:
        """The replacements worth asking, in the order of their slots."""
        fine = np.isfinite(seen.gains)
        if self.exact or not fine.any():
            return group.keep(fine)
        gains = np.where(fine, seen.gains, 0)
        order = ranked(np.where(fine, gains, -1e30).astype(np.float32), slack=_ROUNDING * float(np.abs(gains).max()))
        kept = np.zeros(group.count, np.bool_)
        kept[order[: self.tries]] = True
        return group.keep(kept & fine)


def _swaps(trial: Trial, member: Held, space: Space) -> Variants:
    """All replacements in slots that are as they were."""
    same = (member.text.words == trial.origin.words)[space.slots]
    left = np.flatnonzero(same).tolist()
    return Variants.each(member.text, space.slots[left], [space.words[i] for i in left])
