"""Certificates on disk: one line a text, and what they add up to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from malaprop.records.documents import Document, read_lines
from malaprop.records.store import LineKind
from malaprop.records.summary import Rate

FILE, LINES = "certified.json", "certificates.jsonl"
_RECORD = Document(file=FILE, about="certificates", again="run malaprop certify again")
MOST = 5  # changed words up to which certified accuracy is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Of one text: `radius` words may change and the label stays; None: not even as it stands is it sure."""

    id: str
    label: int
    prediction: int
    hits: int  # copies, of those that bound the chance, with the predicted label
    lower: float  # bound on the chance of that label
    words: int
    changeable: int  # words that can change at all, in the sense of the certificate
    radius: int | None

    @property
    def right(self) -> bool:
        return self.prediction == self.label

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    def holds(self, changed: int) -> bool:
        """Whether the text is right, and sure to be after so many changes; fewer words than that can all change."""
        return self.right and self.radius is not None and self.radius >= min(changed, self.changeable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """What the certificates of one smoothed victim add up to."""

    victim: str
    data: str
    defence: str
    about: str  # which changes the certificates speak of
    settings: dict[str, Any] = field(default_factory=dict)
    samples: int
    alpha: float
    plain: Rate  # accuracy of the victim inside, as it is
    clean: Rate  # accuracy of the vote
    certified: tuple[Rate, ...]  # right and sure under 0, 1, 2 ... changed words
    every: Rate  # right and sure whatever number of words changes
    unsure: int  # texts without a certificate
    seconds: float = 0.0

    @classmethod
    def of(cls, found: Sequence[Certificate], **about: Any) -> Certified:
        many = len(found)
        return cls(
            clean=Rate(sum(c.right for c in found), many),
            certified=tuple(Rate(sum(c.holds(d) for c in found), many) for d in range(MOST + 1)),
            every=Rate(sum(c.holds(c.changeable) for c in found), many),
            unsure=sum(c.radius is None for c in found),
            **about,
        )

    def write(self, folder: Path) -> Path:
        return _RECORD.write(folder, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Certified | None:
        """None where the folder holds none."""
        return _RECORD.read(folder, certified_of)


def rate_of(raw: Any) -> Rate:
    """A rate as it was written."""
    units = raw.get("units")
    return Rate(int(raw["hits"]), int(raw["total"]), None if units is None else int(units))


def certified_of(raw: dict[str, Any]) -> Certified:
    """The record of plain values."""
    return Certified(
        victim=str(raw["victim"]),
        data=str(raw["data"]),
        defence=str(raw["defence"]),
        about=str(raw["about"]),
        settings=dict(raw["settings"]),
        samples=int(raw["samples"]),
        alpha=float(raw["alpha"]),
        plain=rate_of(raw["plain"]),
        clean=rate_of(raw["clean"]),
        certified=tuple(rate_of(rate) for rate in raw["certified"]),
        every=rate_of(raw["every"]),
        unsure=int(raw["unsure"]),
        seconds=float(raw["seconds"]),
    )


def _certificate(raw: Mapping[str, Any]) -> Certificate:
    return Certificate(**raw)


CERTIFICATES = LineKind(file=LINES, what="certificates", read=_certificate, write=Certificate.to_json)


def read_certificates(folder: Path) -> list[Certificate]:
    """The lines, where there are any."""
    return read_lines(folder / LINES, _certificate)
