"""Whole texts compared with the original: similarity of sentences and tokens, mistakes of grammar, BLEU and chrF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.encoders import TOKENS
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags, Floats, best
from malaprop.core.text import Text

ROUGH = 0.005  # the error of the encoder's fast cosines; closer to the floor than this the exact ones decide


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCosine:
    """The sentence encoder's vectors of the text and of the *original* have at least this cosine; of a pair, those of
    the fields that may change. Texts of fewer than `least` words always pass: one word is a large part of them.
    """

    floor: float = 0.7
    least: int = 0
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        if not -1 <= self.floor <= 1:
            raise SettingError(f"SentenceCosine.floor must lie in [-1, 1], got {self.floor}")
        if self.least < 0:
            raise SettingError(f"SentenceCosine.least must be at least 0, got {self.least}")

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        if len(trial.open()) < self.least:
            return np.ones(len(texts), np.bool_)
        cosines = yield from similarities(trial, texts, rough=True)
        unsure = np.flatnonzero(np.abs(cosines - self.floor) < ROUGH)
        cosines[unsure] = yield from similarities(trial, [texts[i] for i in unsure.tolist()])
        # a vector's last digits move with its batch; the slack keeps a border case on one side at any width
        return np.asarray(cosines >= self.floor - 1e-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSimilarity:
    """The tokens of the text and of the *original*, read in their sentences, match with at least this F1.

    After BERTScore (Zhang et al. 2020): each token is matched with the one of the other text that is nearest, by the
    cosine of MiniLM's last states; without its weights by rarity and its rescaling.
    """

    floor: float = 0.8
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        if not -1 <= self.floor <= 1:
            raise SettingError(f"TokenSimilarity.floor must lie in [-1, 1], got {self.floor}")

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        origin, *rows = yield Ask(TOKENS, list(map(trial.shown, [trial.origin, *texts])))
        return np.asarray([match_tokens(origin, row) >= self.floor - 1e-6 for row in rows], np.bool_)


def match_tokens(one: Floats, two: Floats) -> float:
    """The F1 of matching unit vectors [token, dim] with their nearest; 0 where one of the texts has no token."""
    if not len(one) or not len(two):
        return 0.0
    cosines = np.asarray(one) @ np.asarray(two).T
    recall, precision = float(cosines.max(1).mean()), float(cosines.max(0).mean())
    return 2 * recall * precision / (recall + precision) if recall + precision > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoNewMistakes:
    """A grammar checker finds at most `more` mistakes more than in the original.

    By LanguageTool, which wants the library `language_tool_python` and Java, or else by Harper, which wants
    `harper-py`; where both are missing the run says so.
    """

    more: int = 0
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        if self.more < 0:
            raise SettingError(f"NoNewMistakes.more must be at least 0, got {self.more}")

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        origin, *found = yield Ask("grammar", list(map(trial.shown, [trial.origin, *texts])))
        return np.asarray([many <= origin + self.more for many in found], np.bool_)


def most_similar(trial: Trial, texts: Sequence[Text]) -> Steps[int]:
    """Return the index of the text that is most similar to the original."""
    if len(texts) == 1:
        return 0
    rough = yield from similarities(trial, texts, rough=True)
    top = np.flatnonzero(rough >= rough.max() - 2 * ROUGH)
    plain = yield from similarities(trial, [texts[i] for i in top.tolist()] if len(top) > 1 else [])
    return int(top[best(plain)] if len(top) > 1 else top[0])


def similarities(trial: Trial, texts: Sequence[Text], *, rough: bool = False) -> Steps[Floats]:
    """Return the sentence encoder's cosine of each text with the original; `rough`: faster, with an error of ROUGH."""
    if not texts:
        return np.empty(0, np.float32)
    vectors = yield Ask(
        f"{trial.encoder}/rough" if rough else trial.encoder, list(map(trial.shown, [trial.origin, *texts]))
    )
    origin = np.asarray(vectors[0])
    return np.asarray([float(np.dot(origin, v)) for v in vectors[1:]], np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class BleuFloor:
    """Sentence BLEU of the text against the original is at least this, from 0 to 100: few words and no run change."""

    floor: float = 50.0
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        _check("BleuFloor", self.floor)

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.models import bleu

        return _reach(trial, texts, bleu.sentence, self.floor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChrfFloor:
    """chrF of the text against the original is at least this, from 0 to 100: a letter costs less than a word."""

    floor: float = 70.0
    stage: ClassVar[Literal["text"]] = "text"

    def __post_init__(self) -> None:
        _check("ChrfFloor", self.floor)

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.models import bleu

        return _reach(trial, texts, bleu.chrf, self.floor)


def _check(name: str, floor: float) -> None:
    if not 0 <= floor <= 100:
        raise SettingError(f"{name}.floor must lie in [0, 100], got {floor}")


def _reach(trial: Trial, texts: Sequence[Text], measure: Callable[[str, str], float], floor: float) -> Flags:
    origin = trial.shown(trial.origin)
    return np.asarray([measure(trial.shown(text), origin) >= floor - 1e-9 for text in texts], np.bool_)
