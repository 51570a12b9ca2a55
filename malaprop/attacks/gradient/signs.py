"""SignWalk: random words, each replaced by what agrees best with the signs of the gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.gradient.look import aim, filter_allowed, look
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.gradient import WordLook
from malaprop.core.score import best
from malaprop.core.variants import Variants

_HALF = 0.5  # a sign more or less counts 1 or 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SignWalk:
    """At each of `rounds` steps a word drawn at random is replaced, whether that gains or not, by the word whose
    difference from it has the signs of the gradient in most numbers of its vector (Papernot et al. 2016).

    `known` bars replacements that the victim has no word for.
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
