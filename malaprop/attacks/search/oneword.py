"""Sweep: try all replacements of a slot, up to the whole vocabulary, one slot after another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from malaprop.attacks.ranking.order import LeaveOneOut, Ranking
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.insight import Apart
from malaprop.core.score import Scored, best
from malaprop.core.text import Ints
from malaprop.core.variants import Variants

_SLACK = 1e-5  # share of the nearest distance that batch rounding may change, so that it decides nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Tries all replacements of the slot that a ranking puts first, in a random order of the seed.

    The first one that reaches the goal ends the attack; with `nearest`, the one among all that reach it which moves the
    vector that the victim's classifier reads least (L1, from the original). `words` slots are tried at most: where none
    reaches the goal, the replacement that gains most stays, and the ranking chooses among the slots that are left.

    Without `nearest`, the first `peek` replacements are queried before the rest, which most texts then do not need.
    """

    rank: Ranking = field(default_factory=LeaveOneOut)
    nearest: bool = False
    words: int = 1
    peek: int = 256

    def __post_init__(self) -> None:
        if min(self.words, self.peek) < 1:
            raise SettingError(f"Sweep needs words and peek of at least 1, got {self.words} and {self.peek}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        now, left = start, space.able()
        for _ in range(min(self.words, len(left.slots))):
            plan = yield from self.rank.order(trial, now, left)
            slot, words = int(plan.slots[0]), plan.words[0]
            words = words[trial.generator("sweep", str(slot)).permutation(len(words))]
            found = yield from self._sweep(trial, now, slot, words)
            now = found or now
            if now.reached:
                break
            left = _without(left, slot)
        return now

    def _sweep(self, trial: Trial, now: Held, slot: int, words: Ints) -> Steps[Held | None]:
        """Return the text that reaches the goal by this slot, else the one that gains most; None where none gains."""
        swept: list[Scored] = []
        for part in [words] if self.nearest else [words[: self.peek], words[self.peek :]]:
            if not len(part):
                continue
            (scored,) = yield from trial.score([Variants.at(now.text, slot, part)])
            if self.nearest:
                scored = yield from trial.confirmed(scored)
            swept.append(scored)
            hits = yield from _hits(trial, scored)
            if len(hits):
                chosen = (yield from _nearest(trial, scored, hits)) if self.nearest else int(hits[0])
                return trial.take(scored, chosen)
        held = [found for found in (yield from trial.choose(swept, [now.value] * len(swept))) if found is not None]
        return held[best(np.asarray([found.value for found in held], np.float32))] if held else None


def _hits(trial: Trial, scored: Scored) -> Steps[Ints]:
    """Return the variants that reach the goal and satisfy every constraint, in their order."""
    flags = scored.reached
    hits = np.flatnonzero(flags)
    if not len(hits):
        return hits
    some = Scored(scored.variants.keep(flags), scored.answers[flags], scored.values[flags], scored.reached[flags])
    return hits[(yield from trial.admit_all(some))]


def _nearest(trial: Trial, scored: Scored, hits: Ints) -> Steps[int]:
    if len(hits) == 1:
        return int(hits[0])
    flags = np.zeros(len(scored.values), np.bool_)
    flags[hits] = True
    (apart,) = yield Ask("embeddings", [Apart(origin=trial.origin, variants=scored.variants.keep(flags))])
    return int(hits[best(-apart, slack=_SLACK * max(1.0, float(apart.min())))])


def _without(space: Space, slot: int) -> Space:
    kept = np.flatnonzero(space.slots != slot)
    return Space(space.slots[kept], [space.words[i] for i in kept.tolist()])
