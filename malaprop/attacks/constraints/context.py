"""Whether a replacement is to be expected in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.cloze import MASKED_LM, Cloze
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Ints

_SLACK = 1e-3  # of the logarithm: a model's rounding with its batch must not choose


@dataclass(frozen=True, slots=True, kw_only=True)
class InContext:
    """A masked language model expects the replacement in its place, in the sense that the word has there.

    Where it does not see the word, it finds the replacement at most `times` less likely than the word itself, words of
    several tokens token by token; where it reads the word, it gives the replacement at least the chance `least`, which
    is asked of words of one token alone. So *the film's plot* does not become its *conspiracy*. It reads the original
    around the slot, so that each slot is asked once. What is put in beside a word is let through. `model`: a
    transformers folder or a hub name; None: the packaged one.
    """

    times: float = 50.0
    least: float = 2e-5
    model: str | None = None
    stage: ClassVar[Literal["word"]] = "word"

    def __post_init__(self) -> None:
        if self.times < 1 or not 0 <= self.least < 1:
            raise SettingError(f"InContext wants times >= 1 and 0 <= least < 1, got {self.times} and {self.least}")

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        table = trial.origin.table.strings
        fine = [np.ones(len(options), np.bool_) for options in words]
        single = [np.asarray([" " not in table[w] for w in options.tolist()], np.bool_) for options in words]
        asked = [i for i, flags in enumerate(single) if flags.any()]
        some = [tuple(table[w] for w in words[i][single[i]].tolist()) for i in asked]
        clozes = list(_make_clozes(trial, slots[asked].tolist(), some))
        service = f"{MASKED_LM}:{self.model}" if self.model else MASKED_LM
        guesses = iter((yield Ask(service, clozes)) if clozes else [])
        for i in asked:
            unseen, seen = next(guesses).logs, next(guesses).logs
            likely = unseen[1:] >= unseen[0] - np.log(self.times) - _SLACK
            fine[i][single[i]] = likely & ~(seen[1:] < np.log(max(self.least, 1e-30)) - _SLACK)  # nan: not known
        return fine


def _make_clozes(trial: Trial, slots: Sequence[int], options: Sequence[tuple[str, ...]]) -> Iterator[Cloze]:
    """For each slot two: the word hidden, and the word read. The word itself is scored first."""
    origin = trial.origin
    values, spans, fields = origin.values(), origin.spans(), origin.field_of_slots().tolist()
    for slot, some in zip(slots, options, strict=True):
        start, end = spans[slot]
        for hidden in (True, False):
            yield Cloze(values[fields[slot]], start, end, hidden, words=(origin.strings[slot], *some))
