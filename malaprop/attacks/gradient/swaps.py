"""Searches over whole words by the gradient: SwapBeam (HotFlip) and SignWalk (Papernot et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.gradient.look import aim, filter_allowed, look
from malaprop.attacks.search.beam import best_of
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.gradient import WordLook, WordSeen
from malaprop.core.score import best, ranked
from malaprop.core.variants import Variants

_ROUNDING = 1e-5  # share of the largest estimate that batch rounding may change, so that it decides nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapBeam:
    """Beam search that changes one more word at each of `depth` steps, by derivatives (Ebrahimi et al. 2018).

    The `tries` replacements of each text with the largest derivative are queried, and the `width` best of the answers
    are kept. `known` bars replacements that are not in the victim's vocabulary. `exact` queries all replacements.
    """

    width: int = 10
    depth: int = 2
    tries: int = 10
    known: bool = True
    exact: bool = False

    def __post_init__(self) -> None:
        if min(self.width, self.depth, self.tries) < 1:
            raise SettingError("SwapBeam needs width, depth and tries of at least 1")

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
        """Return the replacements worth a query, in the order of their slots."""
        fine = np.isfinite(seen.gains)
        if self.exact or not fine.any():
            return group.keep(fine)
        gains = np.where(fine, seen.gains, 0)
        order = ranked(np.where(fine, gains, -1e30).astype(np.float32), slack=_ROUNDING * float(np.abs(gains).max()))
        kept = np.zeros(group.count, np.bool_)
        kept[order[: self.tries]] = True
        return group.keep(kept & fine)


def _swaps(trial: Trial, member: Held, space: Space) -> Variants:
    """Return all replacements in slots that are unchanged so far."""
    same = (member.text.words == trial.origin.words)[space.slots]
    left = np.flatnonzero(same).tolist()
    return Variants.each(member.text, space.slots[left], [space.words[i] for i in left])


_HALF = 0.5  # a sign more or less counts 1 or 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SignWalk:
    """Replaces a random word at each of `rounds` steps, whether that gains or not (Papernot et al. 2016).

    The new word is the one whose difference from the old one agrees with the signs of the gradient in most numbers of
    its vector. `known` bars replacements that are not in the victim's vocabulary.
    """

    rounds: int = 100
    known: bool = True

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise SettingError(f"SignWalk.rounds must be at least 1, got {self.rounds}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        able, text = space.able(), start.text
        for step in range(self.rounds + 1):
            place = int(trial.rng.integers(len(able.slots)))
            slot = int(able.slots[place])
            words = able.words[place]
            here = np.concatenate([trial.origin.words[slot : slot + 1], words])
            group = Variants.at(text, slot, here[here != text.words[slot]])
            asked = WordLook(variants=group, aim=aim(trial, odds=True), known=self.known, signs=True)
            ((seen, held),) = yield from look(trial, [asked])
            if held.reached or step == self.rounds:
                break
            gains = np.where(np.isfinite(seen.gains), seen.gains, -1e30).astype(np.float32)
            if gains.max() > -1e30:
                moved = group.pick(best(gains, _HALF))
                text = moved if (yield from filter_allowed(trial, [moved])) else text
        return trial.held or start
