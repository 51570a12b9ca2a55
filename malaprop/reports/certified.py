"""Certificates on the page and in the terminal, from their record alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.records.certified import CertifiedRecord
from malaprop.reports import tables
from malaprop.reports.figures import Axis, Mark, legend, rate_chart
from malaprop.reports.markup import Markup, join, tag
from malaprop.reports.section import Section

TITLE = "Certificates"


def certificates(found: Sequence[CertifiedRecord]) -> Markup:
    """One card for all certificates at hand; nothing where there is none."""
    if not found:
        return Markup("")
    lead = (
        "Certified accuracy is a lower bound: the share of texts that are right, and sure to stay so under d changed "
        "words of the kind named. Accuracy under an attack is an upper bound of the same thing."
    )
    return tables.card("certificates", TITLE, lead, figure(found), table(found))


def figure(found: Sequence[CertifiedRecord]) -> Markup:
    """Certified accuracy against the number of changed words."""
    lines = [
        (_name(one), color, [Mark.of(d, rate) for d, rate in enumerate(one.certified) if rate.total])
        for color, one in enumerate(found)
    ]
    most = max(len(one.certified) for one in found) - 1
    axis = Axis(label="Changed words", low=0, high=max(1, most), show=lambda d: f"{d:g}")
    title = "Certified accuracy against changed words"
    key = legend([(name, color) for name, color, _ in lines])
    chart = rate_chart(title, "Certified accuracy", lines, axis)
    return tables.panels(tables.panel(title, chart, key), kind="panels lone")


def table(found: Sequence[CertifiedRecord]) -> Markup:
    """Rates with their intervals, and what each certificate speaks of."""
    most = max(len(one.certified) for one in found)
    names = ("Defence", "Model alone", "Vote", *(f"d = {d}" for d in range(1, most)), "Any number", "Unsure", "Changes")
    rows = []
    for one in found:
        sure = f"{one.unsure} of {one.clean.total}"
        about = f"{one.about}; {one.samples:,} copies, alpha {one.alpha:g}"
        cells = (str(one.plain), str(one.clean), *map(str, one.certified[1:]), str(one.every), sure, about)
        rows.append((_name(one), *cells))
    return tables.table("Certified accuracy", names, rows)


def _name(one: CertifiedRecord) -> str:
    return f"{one.defence}({one.victim})"


def terminal(one: CertifiedRecord) -> str:
    """A few lines for people."""
    lines = [
        f"{_name(one)} on {one.data}: {one.about}",
        f"  model alone      {one.plain}",
        f"  vote             {one.clean}",
        *(f"  certified, d = {d} {rate}" for d, rate in enumerate(one.certified)),
        f"  any number       {one.every}",
        f"  {one.unsure} of {one.clean.total} texts without a certificate; {one.samples:,} copies each, "
        f"alpha {one.alpha:g}, {one.seconds:.1f} s",
    ]
    return "\n".join(lines)


def headline(found: Sequence[CertifiedRecord]) -> Markup | None:
    """How much is sure under one changed word."""
    best = max(found, key=lambda one: one.certified[1].value if one.certified[1].total else -1.0)
    sure = tag("strong", f"{100 * best.certified[1].value:.0f}%") if best.certified[1].total else "none"
    return join(tag("strong", _name(best)), " is right, and sure to stay so when any one word changes, on ", sure,
                f" of {best.clean.total:,} texts.")  # fmt: skip


SECTION = Section(rank=41, title=TITLE, body=certificates, terminal=terminal, headline=headline)
