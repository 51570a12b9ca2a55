"""What people are asked: each question's words, choices and level of measurement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.humaneval.agreement import Level

Shape = Literal["label", "scale", "pair"]
SCALE = ("1", "2", "3", "4", "5")
SIDES = ("a", "b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question; `ends` says what 1 and 5 of a scale mean, `original` whether the original text is shown too."""

    name: str
    shape: Shape
    level: Level
    prompt: str
    guidance: str
    original: bool = False
    ends: tuple[str, str] = ("", "")


# In the order in which a rater meets them: those that show an original come last, so that it gives nothing away.
QUESTIONS: dict[str, Question] = {
    q.name: q
    for q in (
        Question(
            name="label",
            shape="label",
            level="nominal",
            prompt="Which label fits this text best?",
            guidance="Go by what the whole text says. If a word looks odd, choose what the writer most likely meant.",
        ),
        Question(
            name="naturalness",
            shape="scale",
            level="ordinal",
            prompt="How natural does this text read?",
            guidance="5 means that a fluent writer could have written it as it stands; 1 means that nobody would.",
            ends=("not natural at all", "fully natural"),
        ),
        Question(
            name="readability",
            shape="pair",
            level="nominal",
            prompt="Which of the two texts is easier to read?",
            guidance="Choose the text that reads more naturally; if both read alike, the one you would rather read.",
        ),
        Question(
            name="meaning",
            shape="scale",
            level="ordinal",
            prompt="How much of the original's meaning does the changed text keep?",
            guidance="5 means that both say the same, 1 that they say different things. Odd wording does not matter.",
            original=True,
            ends=("nothing of it", "all of it"),
        ),
        Question(
            name="similarity",
            shape="pair",
            level="nominal",
            prompt="Which of the two texts is closer to the original?",
            guidance="Choose the text whose meaning is nearer to that of the original on top.",
            original=True,
        ),
    )
}
ASKED = ("readability", "label", "similarity", "naturalness")


def chosen(names: Iterable[str]) -> tuple[Question, ...]:
    """The questions of these names, each once, in the order in which they are put."""
    wanted = list(names)
    for name in wanted:
        if name not in QUESTIONS:
            raise unknown("question", name, QUESTIONS)
    if not wanted:
        raise SettingError(f"no question was asked; choose from {', '.join(QUESTIONS)}")
    return tuple(q for q in QUESTIONS.values() if q.name in wanted)


def choices(question: Question, labels: Sequence[str]) -> tuple[str, ...]:
    """The values an answer may have, as they are stored: a label's number, 1 to 5, or a text's letter."""
    if question.shape == "label":
        return tuple(str(number) for number in range(len(labels)))
    return SCALE if question.shape == "scale" else SIDES
