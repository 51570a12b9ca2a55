"""The victim's answers to the unchanged texts, which a run with a spending limit stores before its attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from malaprop.core.errors import RecordError
from malaprop.frame.records.paired_texts import digest

FILE = "clean.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanAnswer:
    """A victim's scores for one unchanged text. `right` is None for a regression, which has no right answer."""

    id: str
    text: str  # the hash of the text and the victim
    scores: tuple[float, ...]
    right: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanAnswers:
    """The answers of one victim: scores by text id, and `counts`, (right, all), empty for a regression."""

    scores: Mapping[str, tuple[float, ...]]
    counts: tuple[int, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[CleanAnswer]) -> CleanAnswers:
        judged = [row.right for row in rows if row.right is not None]
        return cls(scores={row.id: row.scores for row in rows}, counts=(sum(judged), len(judged)) if judged else ())


def mark_text(victim: str, fields: Mapping[str, str]) -> str:
    """Return a hash that identifies one victim's answer to one text."""
    return digest({"": victim, **fields})


def check_same(rows: Sequence[CleanAnswer], marks: Mapping[str, str]) -> None:
    """Raise if answers of an earlier attempt are for other texts or from another victim."""
    if any(marks.get(row.id, row.text) != row.text for row in rows):
        raise RecordError(f"{FILE} holds answers of another victim or for other texts; choose another --out")
