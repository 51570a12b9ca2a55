"""The questions that raters answer: wording, choices and level of measurement of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.features.humans.agreement import Level

Shape = Literal["label", "scale", "pair"]
SCALE = ("1", "2", "3", "4", "5")
SIDES = ("a", "b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question; `ends` are the meanings of 1 and 5 on a scale, `original` shows the original text as well.

    `of_images` holds the prompt and the guidance for images.
    """

    name: str
    shape: Shape
    level: Level
    prompt: str
    guidance: str
    original: bool = False
    ends: tuple[str, str] = ("", "")
    of_images: tuple[str, str] = ("", "")

    def word_for(self, images: bool) -> Question:
        """Return the question with its wording for texts or for images."""
        return replace(self, prompt=self.of_images[0], guidance=self.of_images[1]) if images else self


# In the order in which a rater sees them: those that show an original come last, as it would give answers away.
QUESTIONS: dict[str, Question] = {
    q.name: q
    for q in (
        Question(
            name="label",
            shape="label",
            level="nominal",
            prompt="Which label fits this text best?",
            guidance="Go by what the whole text says. If a word looks odd, choose what the writer most likely meant.",
            of_images=("Which label fits this image best?", "Go by the whole image, however odd a part of it looks."),
        ),
        Question(
            name="naturalness",
            shape="scale",
            level="ordinal",
            prompt="How natural does this text read?",
            guidance="5 means that a fluent writer could have written it as it stands; 1 means that nobody would.",
            ends=("not natural at all", "fully natural"),
            of_images=(
                "How natural does this image look?",
                "5 means that it could be a real one, as a person would write or take it; 1 means that nobody would.",
            ),
        ),
        Question(
            name="readability",
            shape="pair",
            level="nominal",
            prompt="Which of the two texts is easier to read?",
            guidance="Choose the text that reads more naturally; if both read alike, the one you would rather read.",
            of_images=("Which of the two images is easier to make out?", "Choose the one whose content is clearer."),
        ),
        Question(
            name="meaning",
            shape="scale",
            level="ordinal",
            prompt="How much of the original's meaning does the changed text keep?",
            guidance="5 means that both say the same, 1 that they say different things. Odd wording does not matter.",
            original=True,
            ends=("nothing of it", "all of it"),
            of_images=(
                "How similar is the changed image to the original?",
                "5 means that both show the same, 1 that they show different things.",
            ),
        ),
        Question(
            name="similarity",
            shape="pair",
            level="nominal",
            prompt="Which of the two texts is closer to the original?",
            guidance="Choose the text whose meaning is nearer to that of the original on top.",
            original=True,
            of_images=("Which of the two images is closer to the original?", "Compare each with the original on top."),
        ),
        Question(
            name="more-natural",
            shape="pair",
            level="nominal",
            prompt="Which of the two texts changes the original in the more natural way?",
            guidance="Choose the text that a person could have written in the original's place.",
            original=True,
            of_images=(
                "Which of the two images changes the original in the more natural way?",
                "Choose the image that could be a real one; specks and smears that no hand would make are not natural.",
            ),
        ),
    )
}
ASKED = ("readability", "label", "similarity", "naturalness")
NATURAL = ("naturalness", "meaning", "similarity", "more-natural")  # of natural adversaries: the paper's tables 7 and 8


def choose_questions(names: Iterable[str]) -> tuple[Question, ...]:
    """Return the questions of these names, each once, in the order in which raters see them."""
    wanted = list(names)
    for name in wanted:
        if name not in QUESTIONS:
            raise unknown("question", name, QUESTIONS)
    if not wanted:
        raise SettingError(f"--ask names no question; choose from {', '.join(QUESTIONS)}")
    return tuple(q for q in QUESTIONS.values() if q.name in wanted)


def choices(question: Question, labels: Sequence[str]) -> tuple[str, ...]:
    """Return the values that a stored answer may have: a label's number, 1 to 5, or a text's letter."""
    if question.shape == "label":
        return tuple(str(number) for number in range(len(labels)))
    return SCALE if question.shape == "scale" else SIDES
