"""Attention checks: items with a known answer, by which raters who do not read are found."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.core.png import address, is_address, picture_of
from malaprop.core.seeds import generator
from malaprop.features.humans.changes import IMAGE, Fields
from malaprop.features.humans.questions import Question
from malaprop.features.humans.sampling import RatedItem
from malaprop.features.humans.sources import StudySource

CHECK = "check"


def checks(
    question: Question, sources: Sequence[StudySource], labels: Sequence[str], many: int, seed: int
) -> list[RatedItem]:
    """`many` checks of a question: a text that says what to choose, or for pairs one made unreadable.

    Images are put beside noise, or have such a text below them.
    """
    rng = generator(seed, "checks", question.name)
    out = []
    for number in range(many):
        source = sources[int(rng.integers(len(sources)))]
        if question.shape == "pair":
            torn = {name: _tear(name, text, seed, f"{number}.{name}") for name, text in source.original.items()}
            out.append(_item(question, source, (source.original, torn), "a"))
        elif question.shape == "label":
            wanted = int(rng.integers(len(labels)))
            out.append(_item(question, source, (_say(source, labels[wanted]),), str(wanted)))
        else:
            wanted = 1 + int(rng.integers(5))
            out.append(_item(question, source, (_say(source, str(wanted)),), str(wanted)))
    return out


def _item(question: Question, source: StudySource, texts: tuple[Fields, ...], expected: str) -> RatedItem:
    return RatedItem(
        question=question.name,
        source=CHECK,
        label=source.label,
        systems=(),
        texts=texts,
        original=source.original if question.original else None,
        expected=expected,
    )


def _say(source: StudySource, wanted: str) -> Fields:
    """The opening of a real text, so that the eye that skims takes it for one, then what to choose."""
    name, text = next(iter(source.original.items()))
    told = f"This is a check that you are reading: please choose “{wanted}” here."
    if name == IMAGE and is_address(text):
        return {name: text, "": told}
    return {name: f"{' '.join(text.split()[:8])} ... {told}"}


def _tear(name: str, text: str, seed: int, which: str) -> str:
    """A text with its words and letters in another order; in the place of an image noise of its size or so."""
    if name != IMAGE or not is_address(text):
        return scramble(text, seed, which)
    return address(picture_of(generator(seed, "noise", which).random((1, 28, 28))))


def scramble(text: str, seed: int, name: str) -> str:
    """All words in another order, and the letters of each too."""
    rng = generator(seed, "scramble", name, text)
    words = text.split()
    return " ".join("".join(rng.permutation(list(words[i]))) for i in rng.permutation(len(words)))
