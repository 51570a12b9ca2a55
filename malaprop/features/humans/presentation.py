"""Shows an item as one rater sees it, and translates between the choice on the page and the stored answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from malaprop.features.humans.changes import Fields
from malaprop.features.humans.items import RatedItem, Turn
from malaprop.features.humans.questions import QUESTIONS, SCALE, SIDES, Question, choices

Parts = tuple[tuple[str, str], ...]  # a field's name, empty where there is only one, and its text


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice on the page: `value` is what the form sends, `key` the key to press, `caption` what the rater reads."""

    value: str
    key: str
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One item on one rater's page; the two texts of a pair are in this rater's order."""

    question: Question
    texts: tuple[Parts, ...]
    original: Parts | None
    choices: tuple[Choice, ...]
    image: bool = False  # the texts are data addresses of images


def show(item: RatedItem, flip: bool, labels: Sequence[str]) -> Shown:
    """Return the item as a page shows it; `flip` swaps the texts of a pair."""
    texts = tuple(map(_parts, item.texts))
    return Shown(
        question=QUESTIONS[item.question].word_for(item.image),
        texts=texts[::-1] if flip else texts,
        original=None if item.original is None else _parts(item.original),
        choices=_choices(QUESTIONS[item.question], labels, "Image" if item.image else "Text"),
        image=item.image,
    )


def _parts(fields: Fields) -> Parts:
    if len(fields) == 1:
        return tuple(("", text) for text in fields.values())
    return tuple(fields.items())


def _choices(question: Question, labels: Sequence[str], what: str) -> tuple[Choice, ...]:
    if question.shape == "label":
        return tuple(Choice(str(n), str(n + 1) if n < 9 else "", name) for n, name in enumerate(labels))
    if question.shape == "scale":
        ends = {SCALE[0]: question.ends[0], SCALE[-1]: question.ends[1]}
        return tuple(Choice(step, step, f"{step}: {ends[step]}" if step in ends else step) for step in SCALE)
    return tuple(Choice(number, number, f"{what} {number}") for number in ("1", "2"))


def to_stored(item: RatedItem, turn: Turn, value: str, labels: Sequence[str]) -> str | None:
    """Return the stored form of a choice, independent of the side; None where the value is not one of the choices."""
    question = QUESTIONS[item.question]
    if question.shape == "pair":
        return SIDES[(value == "2") ^ turn.flip] if value in ("1", "2") else None
    return value if value in choices(question, labels) else None


def to_shown(item: RatedItem, turn: Turn, stored: str) -> str:
    """Return the choice on this rater's page that stands for a stored answer."""
    if QUESTIONS[item.question].shape != "pair":
        return stored
    return str(1 + ((stored == "b") ^ turn.flip))
