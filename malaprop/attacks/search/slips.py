"""Slips: random changes of single characters, the black-box baseline for attacks that choose where to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from malaprop.attacks.candidates.chars import LETTERS
from malaprop.attacks.gradient.flips import budget
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Text, Words, word_pattern
from malaprop.core.variants import Variants

DIGITS = "0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slips:
    """Queries `draws` random changes of one character at each step and takes the best if it gains.

    It ends when the goal is reached or `share` of the characters are changed.

    A character becomes one beside it on the keyboard (`near`), or any letter or digit (`any`).
    """

    to: Literal["near", "any"] = "any"
    share: float = 0.1
    draws: int = 10

    def __post_init__(self) -> None:
        if self.to not in ("near", "any"):
            raise SettingError(f"Slips.to is near or any, got {self.to!r}")
        if self.draws < 1 or not 0 < self.share <= 1:
            raise SettingError(f"Slips needs draws >= 1 and a share in (0, 1], got {self.draws} and {self.share}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        now = start
        for _ in range(budget(trial, self.share)):
            slipped = self._draw(trial, now.text, space)
            if not slipped:
                break
            table = now.text.table
            words = table.ids(word for _, word in slipped)
            (scored,) = yield from trial.score([Variants(now.text, np.asarray([s for s, _ in slipped]), words)])
            (found,) = yield from trial.choose([scored], [now.value])
            now = found or now
            if now.reached:
                break
        return now

    def _draw(self, trial: Trial, text: Text, space: Space) -> list[tuple[int, str]]:
        """Sample distinct changes (slot, word); every character is equally likely."""
        strings, words = text.table.strings, text.words[space.slots].tolist()
        places = [self._places(text.table, word) for word in words]
        ends = np.cumsum([len(p) for p in places])
        if not len(ends) or not ends[-1]:
            return []
        out: dict[tuple[int, str], None] = {}
        for at in trial.rng.integers(int(ends[-1]), size=self.draws).tolist():
            number = int(np.searchsorted(ends, at, side="right"))
            slot, word = int(space.slots[number]), strings[words[number]]
            i = places[number][at - int(ends[number])]
            choice = self._to(word[i])
            made = word[:i] + choice[int(trial.rng.integers(len(choice)))] + word[i + 1 :]
            if word_pattern().fullmatch(made):
                out[slot, made] = None
        return list(out)

    def _places(self, table: Words, word: int) -> list[int]:
        """Return the characters of a word that can change; cached in the table."""
        found: list[int] | None = table.notes.get(("slips", self.to, word))
        if found is None:
            found = [i for i, char in enumerate(table.strings[word]) if self._to(char)]
            table.notes["slips", self.to, word] = found
        return found

    def _to(self, char: str) -> tuple[str, ...] | str:
        """Return the characters that may replace one, in its own case."""
        if self.to == "near":
            from malaprop.assets.lexicon import keyboard

            near = keyboard().get(char.lower(), ())
            return tuple(c.upper() for c in near) if char.isupper() else near
        if not char.isalnum():
            return ""
        others = (LETTERS + DIGITS).replace(char.lower(), "") if char.lower() in LETTERS + DIGITS else LETTERS + DIGITS
        return others.upper() if char.isupper() else others
