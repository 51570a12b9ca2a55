"""How fluent a text is to a language model: perplexity, and the scores of words that were replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from malaprop.core.ask import Cloze
from malaprop.core.errors import SettingError
from malaprop.core.text import Text
from malaprop.core.victim import Victim
from malaprop.features.defending.detection.suspicion import Learnt, Lessons, Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Perplexity:
    """The logarithm of a text's perplexity over that of the usual text of the fit: 0.7 is twice as surprising.

    The causal language model is the packaged SmolLM2, the one of `--measure perplexity`.
    """

    needs_attacked: ClassVar[bool] = False
    counts_words: ClassVar[bool] = False

    def check(self, victim: Victim) -> None:
        """Accept any victim: perplexity needs no answer of it."""

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        del victim
        return Learnt({"usual": np.asarray([np.median(_measure(lessons.clean))])})

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        del victim, exact
        return np.asarray(_measure(texts) - float(learnt.arrays["usual"][0]))

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        del victim, learnt, text
        return 0


def _measure(texts: Sequence[Text]) -> Numbers:
    strings = [" ".join(text.values()) for text in texts]
    return np.log(np.asarray(_language_model().perplexity(strings), np.float64)) if strings else np.empty(0)


@cache
def _language_model() -> Any:
    from malaprop.models.encoders.language_model import open_language_model

    return open_language_model()


_LEAST = -20.0  # lower bound of a word's log-probability


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedTokens:
    """The mean surprise of the `worst` share of a text's words, by a masked language model that reads the whole text.

    After the replaced-token detection of ELECTRA (Clark et al. 2020). Differs: we have no model that was trained for
    that, but a masked language model has seen words replaced at random in its training, so its probability of the word
    in place serves. Words of several tokens are left out. With `hidden` each word is masked in turn, which takes as
    many passes as the text has words; where we tried it, detection was no better. `model` is a masked language model
    by folder or hub name; empty: the packaged one.
    """

    worst: float = 1.0
    hidden: bool = False
    model: str = ""
    needs_attacked: ClassVar[bool] = False
    counts_words: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.worst <= 1:
            raise SettingError(f"rtd: worst is a share of a text's words, above 0 and at most 1, got {self.worst}")

    def check(self, victim: Victim) -> None:
        """Accept any victim: the masked language model alone scores."""

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        del victim, lessons
        return Learnt()

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        from malaprop.models.encoders.masked_lm import open_fast_masked_lm

        del learnt, exact
        clozes = [cloze for text in texts for cloze in self._find_places(text)]
        logs = iter(open_fast_masked_lm(self.model, victim.device).fill(clozes))
        out = []
        for text in texts:
            each = np.asarray([float(next(logs).logs[0]) for _ in range(text.slots)])
            found = np.sort(np.maximum(each[~np.isnan(each)], _LEAST))
            many = max(1, round(self.worst * len(found)))
            out.append(-found[:many].mean() if len(found) else 0.0)
        return np.asarray(out)

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        del victim, learnt, text
        return 0

    def _find_places(self, text: Text) -> list[Cloze]:
        values, fields, spans, words = text.values(), text.field_of_slots().tolist(), text.spans(), text.strings
        return [
            Cloze(values[fields[slot]], *spans[slot], hidden=self.hidden, words=(words[slot],))
            for slot in range(text.slots)
        ]
