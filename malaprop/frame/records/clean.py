"""Answers for texts as they stand, which a run with a limit asks of all texts before it attacks any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from malaprop.core.errors import RecordError
from malaprop.frame.records.paired_texts import digest

FILE = "clean.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanAnswer:
    """A victim's scores for one text. `right` is None where an answer is a number, which is neither right nor wrong."""

    id: str
    text: str  # tells whether it is the same text and victim
    scores: tuple[float, ...]
    right: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanAnswers:
    """The answers of one victim: scores by the id of the text, and how many are right of how many, where any can be."""

    scores: Mapping[str, tuple[float, ...]]
    counts: tuple[int, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[CleanAnswer]) -> CleanAnswers:
        judged = [row.right for row in rows if row.right is not None]
        return cls(scores={row.id: row.scores for row in rows}, counts=(sum(judged), len(judged)) if judged else ())


def mark_text(victim: str, fields: Mapping[str, str]) -> str:
    """What tells a text that a victim was asked about from any other."""
    return digest({"": victim, **fields})


def check_same(rows: Sequence[CleanAnswer], marks: Mapping[str, str]) -> None:
    """Refuses answers of an earlier attempt that are of other texts, or of another victim."""
    if any(marks.get(row.id, row.text) != row.text for row in rows):
        raise RecordError(f"{FILE} holds answers of another victim or for other texts; choose another --out")
