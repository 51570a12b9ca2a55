"""Replacements that a masked language model expects in their place, and words it would put in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.cloze import MASKED_LM, Cloze, Guesses
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints

Place = Literal["replace", "before", "after"]
_PLACES = ("replace", "before", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedWords:
    """The `count` words that a masked language model finds likeliest in a slot, or beside the word in it.

    `hidden`: the model does not see the word that stands there (BAE, CLARE); without, it reads the text as it is and so
    stays nearer to its meaning (BERT-Attack). `least` is the smallest probability. `model` is a transformers folder or
    a hub name; None: the packaged one. The original text is read around each slot, so that every slot is asked once.
    """

    count: int = 50
    least: float = 0.0
    place: Place = "replace"
    hidden: bool = True
    model: str | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or not 0 <= self.least < 1:
            raise SettingError(f"MaskedWords wants count >= 1 and 0 <= least < 1, got {self.count} and {self.least}")
        if self.place not in _PLACES:
            raise SettingError(f"place is replace, before or after, got {self.place!r}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        service = f"{MASKED_LM}:{self.model}" if self.model else MASKED_LM
        guesses = yield Ask(service, list(self._clozes(trial, slots)))
        strings, table = trial.origin.strings, trial.origin.table
        return [
            table.ids(sorted(self._options(strings[slot], guess)))
            for slot, guess in zip(slots.tolist(), guesses, strict=True)
        ]

    def _clozes(self, trial: Trial, slots: Ints) -> Iterator[Cloze]:
        values, spans = trial.origin.values(), trial.origin.spans()
        fields = trial.origin.field_of_slots().tolist()
        for slot in slots.tolist():
            start, end = spans[slot]
            if self.place != "replace":
                start = end = start if self.place == "before" else end
            hidden = self.hidden or self.place != "replace"
            yield Cloze(values[fields[slot]], start, end, hidden, self.count + 1)  # one of them may be the word itself

    def _options(self, word: str, guess: Guesses) -> set[str]:
        likely = guess.logs >= np.log(max(self.least, 1e-30))
        fits = [w for w, fine in zip(guess.words, likely.tolist(), strict=True) if fine and w.lower() != word.lower()]
        if self.place == "replace":
            return {recase(w, word) for w in fits[: self.count]}
        return {f"{w} {word}" if self.place == "before" else f"{word} {w}" for w in fits[: self.count]}
