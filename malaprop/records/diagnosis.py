"""The record of a diagnosis: the strongest rules of each label, and how the data came to teach them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from malaprop.records.documents import Document
from malaprop.records.summary import Rate

FILE = "diagnosis.json"
_RECORD = Document(file=FILE, about="a diagnosis", again="run malaprop rules show --out again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A text of the data that holds the word, from `start` to `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A rule: bits of both words with each label, how often each stands under each label, and texts with the word."""

    word: str
    to: str
    salience: float
    count: int
    pmi: tuple[tuple[float, float], ...]
    seen: tuple[tuple[int, int], ...]
    sightings: tuple[Sighting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OfLabel:
    """One label: of its strongest rules, one a word, how many take bits from the label and how many give to others."""

    label: str
    rules: int
    falls: Rate
    rises: Rate
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """`labels` are those of the data, in the order of `Line.pmi`; `lacking` are labels of rules that it lacks."""

    rules: str
    data: str
    texts: int
    labels: tuple[str, ...]
    found: tuple[OfLabel, ...]
    lacking: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"format": _RECORD.form, **asdict(self)}

    def write(self, folder: Path) -> Path:
        return _RECORD.write(folder, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Diagnosis | None:
        """None where the folder holds none."""
        return _RECORD.read(folder, _diagnosis)


def _diagnosis(raw: Mapping[str, Any]) -> Diagnosis:
    return Diagnosis(
        rules=str(raw["rules"]),
        data=str(raw["data"]),
        texts=int(raw["texts"]),
        labels=tuple(map(str, raw["labels"])),
        lacking=tuple(map(str, raw["lacking"])),
        found=tuple(
            OfLabel(
                label=str(one["label"]),
                rules=int(one["rules"]),
                falls=_rate(one["falls"]),
                rises=_rate(one["rises"]),
                lines=tuple(map(_line, one["lines"])),
            )
            for one in raw["found"]
        ),
    )


def _rate(raw: Mapping[str, Any]) -> Rate:
    return Rate(int(raw["hits"]), int(raw["total"]))


def _line(raw: Mapping[str, Any]) -> Line:
    return Line(
        word=str(raw["word"]),
        to=str(raw["to"]),
        salience=float(raw["salience"]),
        count=int(raw["count"]),
        pmi=tuple((float(before), float(after)) for before, after in raw["pmi"]),
        seen=tuple((int(before), int(after)) for before, after in raw["seen"]),
        sightings=tuple(
            Sighting(text=str(s["text"]), start=int(s["start"]), end=int(s["end"])) for s in raw["sightings"]
        ),
    )
