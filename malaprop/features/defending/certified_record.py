"""Certificates: a line for each text on disk, the record that summarises them, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from malaprop.core.codec import decode, encode
from malaprop.core.files import read_lines
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.store import LineKind
from malaprop.frame.records.summary import Rate
from malaprop.frame.report import tables
from malaprop.frame.report.figures import Axis, Mark, legend, rate_chart
from malaprop.frame.report.markup import Markup, join, tag
from malaprop.frame.report.section import Section

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


TITLE = "Certificates"


def certificates(found: Sequence[CertifiedRecord]) -> Markup:
    """Return one card for all certificates; empty where there are none."""
    if not found:
        return Markup("")
    lead = (
        "Certified accuracy is a lower bound: the share of texts that are right, and sure to stay so under d changed "
        "words of the kind named. Accuracy under an attack is an upper bound of the same thing."
    )
    held = [tag("p", f"{_name(one)}: {line}.") for one in found for line in _describe_tests(one)]
    return tables.card("certificates", TITLE, lead, figure(found), table(found), *held)


def figure(found: Sequence[CertifiedRecord]) -> Markup:
    """Return the chart of certified accuracy by changed words, and above it accuracy under attack."""
    both = any(one.top is not None for one in found)
    named = [(f"{_name(one)}: {name}" if both else _name(one), rates) for one in found for name, rates in curves(one)]
    title = f"Certified accuracy{' and accuracy under attack' * both} against changed words"
    drawn = chart(title, "Accuracy" if both else "Certified accuracy", named)
    key = legend([(name, color) for color, (name, _) in enumerate(named)])
    return tables.panels(tables.panel(title, drawn, key), kind="panels lone")


def curves(one: CertifiedRecord) -> Iterator[tuple[str, Sequence[Rate]]]:
    """Yield the named curves of a record, by changed words: certified accuracy, and accuracy under attack if any."""
    yield "certified", one.certified
    if one.top:
        yield f"under {one.top.recipe}", one.top.accuracy


def chart(title: str, what: str, named: Sequence[tuple[str, Sequence[Rate]]]) -> Markup:
    """Return a chart of curves over the number of changed words, from 0 on."""
    lines = [
        (name, color, [Mark.of(d, rate) for d, rate in enumerate(rates) if rate.total])
        for color, (name, rates) in enumerate(named)
    ]
    most = max(1, *(len(rates) - 1 for _, rates in named))
    marks = range(0, most + 1, 1 + most // 12)
    axis = Axis(label="Changed words", low=0, high=most, show=lambda d: f"{d:g}", marks=marks)
    return rate_chart(title, what, lines, axis)


def table(found: Sequence[CertifiedRecord]) -> Markup:
    """Return a table of the rates with their intervals, and of the changes that each certificate covers."""
    most = 1 + LEAST
    names = ("Defence", "Model alone", "Vote", *(f"d = {d}" for d in range(1, most)), "Any number", "Unsure", "Changes")
    rows = []
    for one in found:
        sure = f"{one.unsure} of {one.clean.total}"
        about = f"{one.about}; {one.samples:,} copies, alpha {one.alpha:g}{_describe_exact(one)}"
        cells = (str(one.plain), str(one.clean), *map(str, one.certified[1:most]), str(one.every), sure, about)
        rows.append((_name(one), *cells))
        if one.top:
            under = [str(rate) for rate in one.top.accuracy[1:most]]
            under += [""] * (most - 1 - len(under))
            rows.append((f"{_name(one)}, under {one.top.recipe}", "", str(one.top.accuracy[0]), *under, "", "", ""))
    return tables.table("Certified accuracy", names, rows)


def _describe_exact(one: CertifiedRecord) -> str:
    return f"; certain for {one.exact} texts, of which all copies were asked" if one.exact else ""


def _describe_tests(one: CertifiedRecord) -> list[str]:
    """Describe in lines how many attacked or changed texts contradict their certificates."""
    tests: list[tuple[str, int, TopCurve | Challenge]] = []
    if one.top:
        tests.append((f"attacked texts ({one.top.recipe}) inside their certificates", one.top.inside, one.top))
    if one.challenge:
        tests.append(
            (f"texts changed at random inside {one.challenge.texts} certificates", one.challenge.tries, one.challenge)
        )
    return [
        f"{many:,} {what}: {test.flipped} turned the vote, {test.contradicted} contradict a certificate when many more "
        "copies vote"
        for what, many, test in tests
    ]


def _name(one: CertifiedRecord) -> str:
    return f"{one.defence}({one.victim})"


def terminal(one: CertifiedRecord) -> str:
    """Return the summary for the terminal."""
    lines = [
        f"{_name(one)} on {one.data}: {one.about}",
        f"  model alone      {one.plain}",
        f"  vote             {one.clean}",
        *(f"  certified, d = {d} {rate}" for d, rate in enumerate(one.certified)),
        *(f"  attacked,  d = {d} {rate}" for d, rate in enumerate(one.top.accuracy if one.top else ())),
        f"  any number       {one.every}",
        f"  {one.unsure} of {one.clean.total} texts without a certificate; {one.samples:,} copies each, "
        f"alpha {one.alpha:g}, {one.seconds:.1f} s{_describe_exact(one)}",
        *(f"  {line}" for line in _describe_tests(one)),
    ]
    return "\n".join(lines)


def headline(found: Sequence[CertifiedRecord]) -> Markup | None:
    """Return a sentence with the share of texts certified for one changed word, by the best victim."""
    best = max(found, key=lambda one: one.certified[1].value if one.certified[1].total else -1.0)
    sure = tag("strong", f"{100 * best.certified[1].value:.0f}%") if best.certified[1].total else "none"
    return join(tag("strong", _name(best)), " is right, and sure to stay so when any one word changes, on ", sure,
                f" of {best.clean.total:,} texts.")  # fmt: skip


SECTION = Section(rank=41, title=TITLE, body=certificates, terminal=terminal, headline=headline)
