"""Certificates on disk: one line a text, and what they add up to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from malaprop.records.codec import decode, encode
from malaprop.records.documents import read_lines
from malaprop.records.kinds import Record
from malaprop.records.store import LineKind
from malaprop.records.summary import Rate

FILE, LINES = "certified.json", "certificates.jsonl"
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
        return json.dumps(encode(self), ensure_ascii=False)

    def holds(self, changed: int) -> bool:
        """Whether the text is right, and sure to be after so many changes; fewer words than that can all change."""
        return self.right and self.radius is not None and self.radius >= min(changed, self.changeable)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedRecord(Record):
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
    def of(cls, found: Sequence[Certificate], **about: Any) -> CertifiedRecord:
        many = len(found)
        return cls(
            clean=Rate(sum(c.right for c in found), many),
            certified=tuple(Rate(sum(c.holds(d) for c in found), many) for d in range(MOST + 1)),
            every=Rate(sum(c.holds(c.changeable) for c in found), many),
            unsure=sum(c.radius is None for c in found),
            **about,
        )


CERTIFICATES = LineKind(file=LINES, what="certificates", read=partial(decode, Certificate), write=Certificate.to_json)


def read_certificates(folder: Path) -> list[Certificate]:
    """The lines, where there are any."""
    return read_lines(folder / LINES, CERTIFICATES.read)
