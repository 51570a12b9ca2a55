"""Local search for small query budgets: one slot at a time, with no more of its replacements than needed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from malaprop.attacks.ranking.order import LeaveOneOut, Ranking
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import ranked
from malaprop.core.text import Ints
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSearch:
    """Goes through the slots in a ranking's order and queries the replacements of each in groups of `each`.

    A slot ends once a replacement has raised the value by `enough`; the best one so far stays if it gains. If the goal
    is not reached then, up to `passes` more go through all slots again, changed ones too, and query every replacement;
    a pass without a gain ends the search. `restore` puts back the words that a success does not need.
    """

    rank: Ranking = field(default_factory=LeaveOneOut)
    each: int = 4
    enough: float = 0.1
    passes: int = 3
    restore: bool = True

    def __post_init__(self) -> None:
        if self.each < 1 or self.passes < 0 or not self.enough > 0:
            raise SettingError(
                f"LocalSearch needs each >= 1, enough > 0, passes >= 0, got {self.each}, {self.enough}, {self.passes}"
            )

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        plan = yield from self.rank.order(trial, start, space.able())
        now = start
        for number in range(1 + self.passes):
            before = now
            for slot, words in zip(plan.slots.tolist(), plan.words, strict=True):
                now = yield from self._improve(trial, now, slot, words, np.inf if number else self.enough)
                if now.reached:
                    return (yield from shorten(trial, now)) if self.restore else now
            if now is before:
                break
        return now

    def _improve(self, trial: Trial, now: Held, slot: int, words: Ints, enough: float) -> Steps[Held]:
        """Return the text with the best queried replacement in a slot, or the unchanged text if none is better."""
        words, top = words[words != now.text.words[slot]], now
        for at in range(0, len(words), self.each):
            (scored,) = yield from trial.score([Variants.at(now.text, slot, words[at : at + self.each])])
            (found,) = yield from trial.choose([scored], [top.value])
            top = found or top
            if top.reached or top.value - now.value >= enough:
                break
        return top


def shorten(trial: Trial, now: Held) -> Steps[Held]:
    """Put back as many words of the original as the goal allows, with few queries; return and hold that text.

    Each changed word is put back alone first. Those whose return keeps the success are put back together, the surest
    first; bisection finds how many. `now` must reach the goal, and so does the result.
    """
    slots = now.text.changed(trial.origin)
    if len(slots) < 2:
        return now
    (scored,) = yield from trial.score([Variants(now.text, slots, trial.origin.words[slots])])
    order = ranked(scored.values, scored.reached)[: int(np.count_nonzero(scored.reached))]
    slots = scored.variants.slots[order]
    best, low, high = now, 0, min(len(slots), len(now.text.changed(trial.origin)) - 1)
    many = high  # all together, then half of them, and so on
    while low < high:
        found = yield from _put_back(trial, now, slots[:many])
        low, high, best = (low, many - 1, best) if found is None else (many, high, found)
        many = (low + high + 1) // 2
    if best is not now:
        trial.keep(best)
    return best


def _put_back(trial: Trial, now: Held, slots: Ints) -> Steps[Held | None]:
    """Return the text with the original words in these slots, if it reaches the goal within every constraint."""
    words, rows = trial.origin.words[slots], np.zeros(len(slots), np.int64)
    (scored,) = yield from trial.score([Variants(now.text, slots, words, rows, 1)])
    scored = yield from trial.confirmed(scored)
    if not scored.reached.any() or not (yield from trial.admit_all(scored)).all():
        return None
    return trial.take(scored, 0)
