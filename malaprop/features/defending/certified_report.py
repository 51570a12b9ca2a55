"""Certificates on the page and in the terminal, from their record alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from malaprop.features.defending.certified_record import LEAST, CertifiedRecord, Challenge, TopCurve
from malaprop.frame.records.summary import Rate
from malaprop.frame.report import tables
from malaprop.frame.report.figures import Axis, Mark, legend, rate_chart
from malaprop.frame.report.markup import Markup, join, tag
from malaprop.frame.report.section import Section

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
