"""Certificates on disk: one line for each text, and the record that summarises them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from malaprop.core.codec import decode, encode
from malaprop.core.files import read_lines
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.store import LineKind
from malaprop.frame.records.summary import Rate

FILE, LINES = "certified.json", "certificates.jsonl"
LEAST, MOST = 5, 10  # the curve of certified accuracy ends between these numbers of changed words


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The certificate of one text: its label stays while at most `radius` words change; None: it is not certified."""

    id: str
    label: int
    prediction: int
    hits: int  # copies with the predicted label, among those that bound its chance
    lower: float  # bound on the chance of that label
    words: int
    changeable: int | None  # words that can change at all, in the sense of the certificate; None: words may be added
    radius: int | None
    upper: float | None = None  # bound on the chance of any other label; None: 1 - lower
    exact: bool = False  # all copies were asked, so the bound is the chance itself and the certificate is certain

    @property
    def right(self) -> bool:
        return self.prediction == self.label

    def to_json(self) -> str:
        return json.dumps(encode(self), ensure_ascii=False)

    def holds(self, changed: int) -> bool:
        """Return whether the text is right and certified for `changed` words, or for all where it has fewer."""
        most = changed if self.changeable is None else min(changed, self.changeable)
        return self.right and self.radius is not None and self.radius >= most

    @property
    def lasts(self) -> bool:
        """Return whether the text is right and certified for any number of changed words."""
        return self.changeable is not None and self.holds(self.changeable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """A test of certificates: texts changed at random inside them, each voted on by as many copies as certified it."""

    texts: int  # certified texts that were changed
    tries: int  # changed texts
    flipped: int  # of those, texts with another label than the certified one
    contradicted: int  # of those, texts that keep the other label when many more copies vote


@dataclass(frozen=True, slots=True, kw_only=True)
class TopCurve:
    """Accuracy under an attack on the vote: an upper bound, beside the lower bound of the certificates."""

    recipe: str = ""
    accuracy: tuple[Rate, ...]  # right when at most 0, 1, 2 ... words may change
    inside: int  # attacked texts, successes or not, that lie inside the certificate of their original
    flipped: int  # of those, texts with another label than the certified one, by as many copies as certified it
    contradicted: int  # of those, texts that keep the other label when many more copies vote
    errors: int = 0  # texts that could not be attacked, which count as they were


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedRecord(Record):
    """A summary of the certificates of one smoothed victim."""

    victim: str
    data: str
    defence: str
    about: str  # which changes the certificates cover
    settings: dict[str, Any] = field(default_factory=dict)
    samples: int
    alpha: float
    plain: Rate  # accuracy of the victim inside, as it is
    clean: Rate  # accuracy of the vote
    certified: tuple[Rate, ...]  # right and sure under 0, 1, 2 ... changed words
    every: Rate  # right and sure whatever number of words changes
    unsure: int  # texts without a certificate
    seconds: float = 0.0
    exact: int = 0  # texts all of whose copies were asked
    top: TopCurve | None = None
    challenge: Challenge | None = None

    @property
    def half(self) -> int | None:
        """Return the most changed words at which half of the texts are certified and right; None: not even at 0."""
        found = [d for d, rate in enumerate(self.certified) if rate.total and rate.value >= 0.5]
        return max(found, default=None)

    @classmethod
    def of(cls, found: Sequence[Certificate], **about: Any) -> CertifiedRecord:
        many = len(found)
        most = max(LEAST, min(MOST, max((c.radius or 0 for c in found), default=0)))
        return cls(
            clean=Rate(sum(c.right for c in found), many),
            certified=tuple(Rate(sum(c.holds(d) for c in found), many) for d in range(most + 1)),
            every=Rate(sum(c.lasts for c in found), many),
            unsure=sum(c.radius is None for c in found),
            exact=sum(c.exact for c in found),
            **about,
        )


CERTIFICATES = LineKind(file=LINES, what="certificates", read=partial(decode, Certificate), write=Certificate.to_json)


def read_certificates(folder: Path) -> list[Certificate]:
    """Read the certificates in a folder; empty where it has none."""
    return read_lines(folder / LINES, CERTIFICATES.read)
