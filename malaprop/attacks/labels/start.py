"""The start of an attack that sees the label alone: replacements at random until the label turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from malaprop.attacks.constraints.edits import words_within
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Scored
from malaprop.core.text import Ints
from malaprop.core.variants import Variants

_FIRST, _LARGEST = 8, 64  # drawn texts that are asked together: few at first, as most labels turn early
_RAMP = 32  # draws over which the number of changed words rises from one to all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomStart:
    """Random replacements, of one word at first and at last of `share` of the words, until the label turns; at most
    `trials` texts are asked.

    Of the texts that turn the label in one block of asks, the one with the fewest changes is taken.
    """

    trials: int = 2500
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.trials < 1 or not 0 < self.share <= 1:
            raise SettingError(
                f"RandomStart wants trials >= 1 and a share in (0, 1], got {self.trials} and {self.share}"
            )

    def flip(self, trial: Trial, able: Space) -> Steps[Held | None]:
        """A text of another label; None, and a reason in the trial, where no draw has one."""
        asked = 0
        for choices in self._draw(trial, able):
            scored = yield from ask_labels(trial, _texts(trial, able, choices))
            asked += len(scored.values)
            hits = np.flatnonzero(scored.reached)
            if len(hits):
                trial.notes["flip_queries"] = float(trial.asked)
                return trial.take(scored, int(hits[np.argmin(scored.variants.changes(trial.origin)[hits])]))
            trial.reason = f"the label did not turn in {asked:,} random trials"
        return None

    def _draw(self, trial: Trial, able: Space) -> Iterator[Ints]:
        """Blocks of [draw, place]: 0 for the original word, else the number of a replacement.

        Where there are no more texts than trials, each comes once, in random order.
        """
        sizes = able.sizes
        most = min(len(sizes), words_within(self.share, len(trial.open())))
        many = float(np.prod(sizes + 1.0)) - 1
        order = 1 + trial.rng.permutation(int(many)) if many <= self.trials else None
        done, block = 0, _FIRST
        while done < min(many, self.trials):
            block = int(min(block, self.trials - done))
            if order is not None:
                yield np.stack(np.unravel_index(order[done : done + block], tuple(sizes + 1)), 1)
            else:
                changes = np.ceil((done + 1 + np.arange(block)) * most / min(_RAMP, most))
                rank = np.argsort(np.argsort(trial.rng.random((block, len(sizes))), 1), 1)
                drawn = 1 + (trial.rng.random((block, len(sizes))) * sizes).astype(np.int64)
                yield np.where(rank < np.minimum(changes, most)[:, None], drawn, 0)
            done, block = done + block, min(2 * block, _LARGEST)


def _texts(trial: Trial, able: Space, choices: Ints) -> Variants:
    sizes = able.sizes
    rows, places = np.nonzero(choices)
    words = np.concatenate(able.words)[(np.cumsum(sizes) - sizes)[places] + choices[rows, places] - 1]
    return Variants(trial.origin, able.slots[places], words, rows, len(choices))


def ask_labels(trial: Trial, variants: Variants) -> Steps[Scored]:
    """The victim's answers, `reached` where the label has turned and every constraint is kept.

    Such a search ends near the border, so a turn within the rounding of a fast answer is confirmed by a plain one.
    """
    (scored,) = yield from trial.score([variants])
    scored = yield from trial.confirmed(scored)
    flags = scored.reached
    if not flags.any():
        return scored
    hits = Scored(scored.variants.keep(flags), scored.answers[flags], scored.values[flags], flags[flags])
    reached = flags.copy()
    reached[flags] = yield from trial.admit_all(hits)
    return replace(scored, reached=reached)
