"""Fewer changes for the same success."""

from __future__ import annotations

import numpy as np

from malaprop.attacks.trial import Held, Trial
from malaprop.core.ask import Steps
from malaprop.core.score import ranked
from malaprop.core.text import Ints
from malaprop.core.variants import Variants


def shorten(trial: Trial, now: Held) -> Steps[Held]:
    """The text with as many words of the original put back as the goal allows, found with few queries.

    Each changed word is put back alone first. Those that can be are put back together, the surest first; how many, is
    found by halving. `now` reaches the goal; what is given does too, and is what the attack ends with.
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
    """The text with the original words in these slots, if it reaches the goal and keeps every constraint."""
    words, rows = trial.origin.words[slots], np.zeros(len(slots), np.int64)
    (scored,) = yield from trial.score([Variants(now.text, slots, words, rows, 1)])
    scored = yield from trial.confirmed(scored)
    if not scored.reached.any() or not (yield from trial.admit_all(scored)).all():
        return None
    return trial.take(scored, 0)
