"""Replacements that a language model expects in their place, and words that it would insert."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from malaprop.attacks.attack import Candidates
from malaprop.attacks.candidates.lookup import recase
from malaprop.attacks.trial import Trial
from malaprop.core.ask import MASKED_LM, Ask, Cloze, Guesses, Steps, Vocabulary
from malaprop.core.errors import SettingError
from malaprop.core.score import ranked
from malaprop.core.text import Ints

Place = Literal["replace", "before", "after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedWords:
    """The `count` words that a masked language model finds likeliest in a slot, or beside the word in it.

    `hidden`: the model does not see the word that stands there (BAE, CLARE); without, it reads the text as it is and so
    stays nearer to its meaning (BERT-Attack). `least` is the smallest probability. `vocabulary` says which tokens are
    words (see core.cloze). `model` is a transformers folder or a hub name; None: the packaged one. The original text is
    read around each slot, or the text as changed so far, where the search asks for that.
    """

    count: int = 50
    least: float = 0.0
    place: Place = "replace"
    hidden: bool = True
    vocabulary: Vocabulary = "words"
    model: str | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or not 0 <= self.least < 1:
            raise SettingError(f"MaskedWords needs count >= 1 and 0 <= least < 1, got {self.count} and {self.least}")
        if self.place not in get_args(Place):
            raise SettingError(f"place is replace, before or after, got {self.place!r}")
        if self.vocabulary not in get_args(Vocabulary):
            raise SettingError(f"vocabulary is words, pieces, tokens or top, got {self.vocabulary!r}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        guesses = yield Ask(_service(self.model), list(self._clozes(trial, slots)))
        strings, table = trial.origin.strings, trial.origin.table
        return [
            table.ids(sorted(self._options(strings[slot], guess)))
            for slot, guess in zip(slots.tolist(), guesses, strict=True)
        ]

    def _clozes(self, trial: Trial, slots: Ints) -> Iterator[Cloze]:
        values, spans = trial.origin.values(), trial.origin.spans()
        fields = trial.origin.field_of_slots().tolist()
        exact = self.vocabulary in ("tokens", "top")
        most = self.count if exact else self.count + 1  # one of them may be the word itself
        for slot in slots.tolist():
            start, end = spans[slot]
            if self.place != "replace":
                start = end = start if self.place == "before" else end
            hidden = self.hidden or self.place != "replace"
            yield Cloze(values[fields[slot]], start, end, hidden, most, vocabulary=self.vocabulary)

    def _options(self, word: str, guess: Guesses) -> set[str]:
        fits = list(_likely(guess, self.least))
        if self.vocabulary in ("tokens", "top"):
            fits = [w for w in fits if w != word]
        else:
            fits = [w for w in fits if w.lower() != word.lower()][: self.count]
            fits = [recase(w, word) for w in fits] if self.place == "replace" else fits
        if self.place == "replace":
            return {*fits}
        return {f"{w} {word}" if self.place == "before" else f"{word} {w}" for w in fits}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedWords:
    """Replace two neighbouring words by one of the `count` that a masked language model finds likeliest (CLARE).

    For searches that can change two slots at once: `words` gives, for each slot, what may stand for its word and the
    next one together.
    """

    count: int = 50
    least: float = 5e-3
    vocabulary: Vocabulary = "words"
    model: str | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or not 0 <= self.least < 1:
            raise SettingError(f"MergedWords needs count >= 1 and 0 <= least < 1, got {self.count} and {self.least}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        values, spans = trial.origin.values(), trial.origin.spans()
        fields = trial.origin.field_of_slots().tolist()
        clozes = [
            Cloze(values[fields[s]], spans[s][0], spans[s + 1][1], True, self.count, vocabulary=self.vocabulary)
            for s in slots.tolist()
        ]
        guesses = (yield Ask(_service(self.model), clozes)) if clozes else []
        strings, table = trial.origin.strings, trial.origin.table
        return [
            table.ids(sorted({w for w in _likely(guess, self.least) if w != strings[s]}))
            for s, guess in zip(slots.tolist(), guesses, strict=True)
        ]


def _service(model: str | None) -> str:
    return f"{MASKED_LM}:{model}" if model else MASKED_LM


def _likely(guess: Guesses, least: float) -> Iterator[str]:
    """Yield the words of at least this probability that hold a letter."""
    likely = guess.logs >= np.log(max(least, 1e-30))
    return (w for w, fine in zip(guess.words, likely.tolist(), strict=True) if fine and any(map(str.isalpha, w)))


_SLACK = 1e-4  # of the logarithm: a language model's rounding with its batch must not choose


@dataclass(frozen=True, slots=True, kw_only=True)
class Likely:
    """Other candidates, reduced to the `keep` of each slot that a language model finds likeliest in their context.

    The model reads `window` words on either side of the replacement (Alzantot et al. 2018 keep the best 4 of 8). It
    reads the original text around it, so that every slot is scored once.
    """

    of: Candidates
    keep: int = 4
    window: int = 6

    def __post_init__(self) -> None:
        if self.keep < 1 or self.window < 1:
            raise SettingError(f"Likely needs keep and window of at least 1, got {self.keep} and {self.window}")

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
