"""Constraints by a language model: a replacement must not be much less likely than the word it replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.ask import NEXT_WORD, Ask, NextWord, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Ints, Text

LOG_PROBABILITY = "log-probability"  # the service: of each text the logarithm of its probability
_SLACK = 1e-3  # of the logarithm: a language model's rounding with its batch must not decide


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyInPlace:
    """With the replacement, the words around it are at most exp(`most`) times less probable than with the original.

    The language model reads `window` words on either side of the replacement, of the original text, so that every
    replacement is read once, before the victim is asked (Jia et al. 2019).
    """

    most: float = 5.0
    window: int = 6
    stage: ClassVar[Literal["word"]] = "word"

    def __post_init__(self) -> None:
        if self.most < 0 or self.window < 1:
            raise SettingError(f"LikelyInPlace needs most >= 0 and window >= 1, got {self.most} and {self.window}")

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        strings, table = trial.origin.strings, trial.origin.table.strings
        asked: list[str] = []
        for slot, options in zip(slots.tolist(), words, strict=True):
            if len(options):
                before, behind = strings[max(0, slot - self.window) : slot], strings[slot + 1 : slot + 1 + self.window]
                shown = [strings[slot], *(table[word] for word in options.tolist())]
                asked += [" ".join([*before, word, *behind]) for word in shown]
        logs = iter((yield Ask(LOG_PROBABILITY, asked)) if asked else [])
        out = []
        for options in words:
            origin = float(next(logs)) if len(options) else 0.0
            found = np.asarray([float(next(logs)) for _ in options])
            out.append(found >= origin - self.most - _SLACK)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyNext:
    """Behind the words before it, the replacement is at most exp(`most`) times less probable than the original word.

    They are compared by their first token, in the original text, which the language model reads once for all of its
    words (Kuleshov et al. 2018). The first word of a text is not checked.
    """

    most: float = 2.0
    stage: ClassVar[Literal["word"]] = "word"

    def __post_init__(self) -> None:
        if self.most < 0:
            raise SettingError(f"LikelyNext.most must be at least 0, got {self.most}")

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        strings, table = trial.origin.strings, trial.origin.table.strings
        values, spans = trial.origin.values(), trial.origin.spans()
        fields = trial.origin.field_of_slots().tolist()
        asked = {
            i: NextWord(text, end, (strings[slot], *(table[word] for word in options.tolist())))
            for i, (slot, options) in enumerate(zip(slots.tolist(), words, strict=True))
            if len(options) and (text := values[fields[slot]])[: (end := spans[slot][0])].strip()
        }
        logs = dict(zip(asked, (yield Ask(NEXT_WORD, list(asked.values()))) if asked else [], strict=True))
        return [
            np.asarray(logs[i][1:] >= logs[i][0] - self.most - _SLACK) if i in logs else np.ones(len(options), np.bool_)
            for i, options in enumerate(words)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerplexityRatio:
    """The language model's perplexity of the text is at most `most` times that of the original; of a pair, that of the
    fields that may change."""

    most: float = 2.0
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        if not self.most > 0:
            raise SettingError(f"PerplexityRatio.most must be above 0, got {self.most}")

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        found = yield Ask("language-model", list(map(trial.shown, [trial.origin, *texts])))
        logs = np.log(np.clip(np.asarray(found, np.float64), 1e-30, 1e30))
        return np.asarray(logs[1:] - logs[0] <= np.log(self.most) + _SLACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWords:
    """Every replacement consists of words that English has: function words, or words that WordNet lists."""

    stage: ClassVar[Literal["word"]] = "word"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.lexicon import is_known

        del slots
        table = trial.origin.table
        known: dict[int, bool] = table.notes.setdefault("known words", {})
        for word in {word for options in words for word in options.tolist()} - known.keys():
            known[word] = all(map(is_known, table.strings[word].lower().split()))
        return [np.asarray([known[word] for word in options.tolist()], np.bool_) for options in words]
