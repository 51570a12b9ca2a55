"""Certificates on the page and in the terminal, from their record alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.records.certified import Certified
from malaprop.records.summary import Point
from malaprop.reports.figures import Axis, legend, rate_chart
from malaprop.reports.markup import Child, Markup, join, tag


def certificates(found: Sequence[Certified]) -> Markup:
    """One card for all certificates at hand; nothing where there is none."""
    if not found:
        return Markup("")
    lead = (
        "Certified accuracy is a lower bound: the share of texts that are right, and sure to stay so under d changed "
        "words of the kind named. Accuracy under an attack is an upper bound of the same thing."
    )
    body: list[Child] = [tag("h2", "Certificates", id="certificates"), tag("p", lead, class_="lead")]
    body += [figure(found), table(found)]
    return tag("section", *body, class_="card study", aria_labelledby="certificates")


def figure(found: Sequence[Certified]) -> Markup:
    """Certified accuracy against the number of changed words."""
    lines = [
        (_name(one), color, [Point(float(d), rate) for d, rate in enumerate(one.certified) if rate.total])
        for color, one in enumerate(found)
    ]
    most = max(len(one.certified) for one in found) - 1
    axis = Axis(label="Changed words", low=0, high=max(1, most), show=lambda d: f"{d:g}")
    title = "Certified accuracy against changed words"
    key = legend([(name, color) for name, color, _ in lines])
    chart = rate_chart(title, "Certified accuracy", lines, axis)
    return tag("div", tag("figure", tag("figcaption", title), chart, key, class_="panel"), class_="panels")


def table(found: Sequence[Certified]) -> Markup:
    """Rates with their intervals, and what each certificate speaks of."""
    most = max(len(one.certified) for one in found)
    names = ("Defence", "Model alone", "Vote", *(f"d = {d}" for d in range(1, most)), "Any number", "Unsure", "Changes")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    rows = []
    for one in found:
        sure = f"{one.unsure} of {one.clean.total}"
        about = f"{one.about}; {one.samples:,} copies, alpha {one.alpha:g}"
        cells = [str(one.plain), str(one.clean), *map(str, one.certified[1:]), str(one.every), sure, about]
        rows.append(tag("tr", tag("th", _name(one), scope="row"), *(tag("td", cell) for cell in cells)))
    shown = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")
    box = tag("div", shown, class_="scroll", tabindex=0, role="region", aria_label="Certified accuracy")
    return join(tag("h3", "Certified accuracy"), box)


def _name(one: Certified) -> str:
    return f"{one.defence}({one.victim})"


def terminal(one: Certified) -> str:
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
