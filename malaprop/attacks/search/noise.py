"""Noise: random whole texts, one after another, until one succeeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.candidates.chars import near_letters
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Text
from malaprop.core.variants import Variants

_AHEAD = 8  # texts that are scored together; those behind a success do not count as asked


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualNoise:
    """Every letter becomes one that looks much like it with probability `share`; `draws` texts are tried at most.

    `near` neighbours of a letter are drawn from evenly; 1 is an accent on it alone (Eger et al. 2019 call that ECES,
    and many DCES or ICES).
    """

    share: float = 0.3
    draws: int = 120
    near: int = 12

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or min(self.draws, self.near) < 1:
            raise SettingError(
                f"VisualNoise needs a share in (0, 1] and draws and near of at least 1, got {self.share}, {self.draws} "
                f"and {self.near}"
            )

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        letters = _Letters(start.text, space, near_letters(self.near))
        if not len(letters.slots):
            return start
        for done in range(0, self.draws, _AHEAD):
            many = min(_AHEAD, self.draws - done)
            texts = [letters.change(trial.rng, self.share) for _ in range(many)]
            groups = [Variants.between(start.text, [text]) for text in texts]
            for i, group in enumerate(groups):
                (scored,) = yield from trial.score([group], ahead=groups[i + 1 :] if not i else ())
                (found,) = yield from trial.choose([scored], [start.value])
                if found is not None and found.reached:
                    return found
        return trial.held or start


class _Letters:
    """The letters of the open words that have look-alikes, as flat arrays."""

    def __init__(self, text: Text, space: Space, near: dict[str, tuple[str, ...]]) -> None:
        self.text, self.near = text, near
        strings = text.strings
        self.strings = {slot: strings[slot] for slot in space.slots.tolist()}
        found = [(slot, i) for slot, word in self.strings.items() for i, char in enumerate(word) if near.get(char)]
        self.slots = np.asarray([slot for slot, _ in found], np.int64)
        self.places = [place for _, place in found]
        self.many = np.asarray([len(near[self.strings[slot][place]]) for slot, place in found], np.int64)

    def change(self, rng: np.random.Generator, share: float) -> Text:
        """Return the text with each letter changed at this probability."""
        hit = np.flatnonzero(rng.random(len(self.slots)) < share)
        which = (rng.random(len(self.slots)) * self.many).astype(np.int64)
        fresh: dict[int, list[str]] = {}
        for at in hit.tolist():
            slot, place = int(self.slots[at]), self.places[at]
            letters = fresh.setdefault(slot, list(self.strings[slot]))
            letters[place] = self.near[letters[place]][which[at]]
        words = self.text.words.copy()
        for slot, letters in fresh.items():
            words[slot] = self.text.table.id("".join(letters))
        return self.text.refilled(words)
