"""Replacements that a language model finds likely in their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.attack import Candidates
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import ranked
from malaprop.core.text import Ints

_SLACK = 1e-4  # of the logarithm: a language model's rounding with its batch must not choose


@dataclass(frozen=True, slots=True, kw_only=True)
class Likely:
    """Of each slot's candidates the `keep` that a language model scores highest around the slot.

    The model reads `window` words on either side of the replacement (Alzantot et al. 2018 keep the best 4 of 8). It
    reads the original text around it, so that every slot is scored once.
    """

    of: Candidates
    keep: int = 4
    window: int = 6

    def __post_init__(self) -> None:
        if self.keep < 1 or self.window < 1:
            raise SettingError(f"Likely wants keep and window of at least 1, got {self.keep} and {self.window}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        words = yield from self.of.words(trial, slots)
        strings, table = trial.origin.strings, trial.origin.table.strings
        asked: list[str] = []
        for slot, options in zip(slots.tolist(), words, strict=True):
            if len(options) > self.keep:
                left, right = strings[max(0, slot - self.window) : slot], strings[slot + 1 : slot + 1 + self.window]
                asked += [" ".join([*left, table[w], *right]) for w in options.tolist()]
        scores = iter((yield Ask("language-model", asked)) if asked else [])
        out = []
        for options in words:
            if len(options) > self.keep:
                surprise = np.log(np.clip([next(scores) for _ in options], 1e-30, 1e30)).astype(np.float32)
                options = options[np.sort(ranked(-surprise, slack=_SLACK)[: self.keep])]
            out.append(options)
        return out
