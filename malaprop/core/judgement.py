"""Requests to a judge of meaning: would a reader say that a changed text has the same meaning and the same label?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

JUDGE = "judge"  # the service of the packaged judge; JUDGE:NAME is that of another judge
KEPT = 0.65  # the chance from which the verdict is `kept`
CHANGED = 0.35  # the chance below which the verdict is `changed`; between the two a judge is not sure

Verdict = Literal["kept", "unsure", "changed"]


class Labelled(NamedTuple):
    """The two texts as a classifier of their task reads them, all fields, with the number of the original's label."""

    original: tuple[str, ...]
    changed: tuple[str, ...]
    label: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """Two texts to compare, with the label of the original where the task has one; the answer is a chance, 0 to 1."""

    original: str
    changed: str
    label: str | None = None  # its name, such as "positive"; a judge that does not know the name reads the texts alone
    context: str = ""  # the fields that did not change, such as the premise
    labelled: Labelled | None = None  # for a judge that refers to other classifiers of the task


class MeaningJudge(Protocol):
    """Gives the chance that a reader would say: same meaning, same label."""

    def kept(self, judgements: Sequence[Judgement]) -> list[float]: ...


def verdict(chance: float) -> Verdict:
    """Return what a judge's chance amounts to."""
    if chance >= KEPT:
        return "kept"
    return "changed" if chance < CHANGED else "unsure"
