"""F1 and exact match of an answer, and a reader as a victim with two scores."""

from __future__ import annotations

import json
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from malaprop.core.score import Floats
from malaprop.core.victim import Fields
from malaprop.features.answering.readers import Reader
from malaprop.models.victims.strings import StringVictim

LABELS = ("kept", "lost")
_BELOW = 0.98  # a score that is as near as can be to the goal stays below one that reaches it
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def split_answer(text: str) -> list[str]:
    """Return the words of an answer as SQuAD compares them: in lower case, without punctuation and articles."""
    return [word for word in text.lower().translate(_PUNCTUATION).split() if word not in ("a", "an", "the")]


def f1(answer: str, true: Sequence[str]) -> float:
    """Return the F1 of the words of an answer, from 0 to 1, against the nearest of the true ones."""
    return max(_f1(split_answer(answer), split_answer(one)) for one in true)


def _f1(found: list[str], there: list[str]) -> float:
    shared = (Counter(found) & Counter(there)).total()
    return 2 * shared / (len(found) + len(there)) if found and there else float(found == there)


def is_exact(answer: str, true: Sequence[str]) -> bool:
    """Whether the answer is one of the true ones, as SQuAD compares them."""
    return any(split_answer(answer) == split_answer(one) for one in true)


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Scores a question as "kept" or "lost": it is lost where the F1 of the answer falls below a bound.

    Between that and the true answer the score follows the F1 that the reader's spans have on average.
    """

    reader: Reader
    below: float

    def __call__(self, texts: Sequence[Fields]) -> Floats:
        out = np.empty((len(texts), 2), np.float32)
        for row, ((_, _, answers), spans) in enumerate(
            zip(texts, self.reader.ask([(question, context) for question, context, _ in texts]), strict=True)
        ):
            true = json.loads(answers)
            near = 1 - sum(share * f1(text, true) for text, share in spans)
            lost = f1(spans[0][0], true) < self.below
            out[row, 1] = 0.5 + 0.5 * max(near, 0.05) if lost else 0.49 * _BELOW * near
        out[:, 0] = 1 - out[:, 1]
        return out


def as_victim(reader: Reader, below: float) -> StringVictim:
    """Return a reader as a victim of fields question, context and answers."""
    return StringVictim(
        call=AnswerScores(reader, below), name=reader.name, labels=2, label_names=LABELS, fingerprint=reader.fingerprint
    )
