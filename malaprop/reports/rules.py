"""What the training data taught the model: the strongest replacement rules and the bits behind them, from a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from malaprop.records.diagnosis import Diagnosis, Line, OfLabel, Sighting
from malaprop.reports.heat import printable
from malaprop.reports.markup import Child, Markup, join, tag

if TYPE_CHECKING:
    from rich.console import Console

TITLE = "What your training data taught the model"
_AROUND = 90  # characters shown on each side of a word


def diagnoses(found: Sequence[Diagnosis]) -> Markup:
    """A card for each record; nothing where there is none."""
    return join(*(_card(one, number) for number, one in enumerate(found)))


def _card(found: Diagnosis, number: int) -> Markup:
    place = f"rules-{number}"
    lead = (
        f"Swaps of synonyms that turn models away from a label ({found.rules}), and how often the {found.texts:,} "
        f"texts of {found.data} have each word under each label. Bits say how much a word speaks for a label; 0 bits: "
        "never seen with it. A swap that keeps the meaning of a text, takes bits from its label and gives them to "
        "another shows what the model learned from the data's habits instead."
    )
    body: list[Child] = [tag("h2", TITLE, id=place), tag("p", lead, class_="lead")]
    if found.lacking:
        body.append(tag("p", f"The rules also speak of labels that the data lacks: {', '.join(found.lacking)}."))
    body += [part for one in found.found for part in _label(found, one)]
    return tag("section", *body, class_="card study", aria_labelledby=place)


def _label(found: Diagnosis, one: OfLabel) -> list[Child]:
    title = f"Away from {one.label}"
    if not one.lines:
        return [tag("h3", title), tag("p", "No rule lowers this label.", class_="quiet")]
    note = (
        f"{one.rules:,} rules. Of the {one.falls.total} strongest, one a word, {one.falls} take bits from "
        f"{one.label} and {one.rises} give bits to the other labels, taken together."
    )
    names = ("Swap", "Salience", "Weighed", *(f"{label}, bits" for label in found.labels), "In the data")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    rows = [
        tag(
            "tr",
            tag("th", f"{line.word} → {line.to}", scope="row"),
            tag("td", f"{line.salience:.2f}"),
            tag("td", f"{line.count:,}"),
            *(tag("td", _bits(line, place)) for place in range(len(found.labels))),
            tag("td", *(_sighting(s, line.to) for s in line.sightings)),
        )
        for line in one.lines
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")
    return [
        tag("h3", title),
        tag("p", note),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=title),
    ]


def _bits(line: Line, place: int) -> Markup:
    (before, after), (had, has) = line.pmi[place], line.seen[place]
    return join(
        f"{before:.2f} → {after:.2f} {_arrow(after - before)}", tag("br"), tag("span", f"{had:,} → {has:,} times")
    )


def _arrow(shift: float) -> str:
    return "" if abs(shift) < 0.005 else ("↑" if shift > 0 else "↓")


def _cut(found: Sighting) -> tuple[str, str, str]:
    """What stands before the word, the word, and what stands behind it."""
    text, start, end = found.text, max(0, found.start), max(0, found.end)
    before, after = text[:start], text[end:]
    if len(before) > _AROUND:
        before = f"… {before[-_AROUND:]}"
    if len(after) > _AROUND:
        after = f"{after[:_AROUND]} …"
    return before, text[start:end], after


def _sighting(found: Sighting, to: str) -> Markup:
    before, word, after = _cut(found)
    return tag("p", before, tag("del", word), " ", tag("ins", to), after)


def print_diagnosis(found: Diagnosis, console: Console | None = None) -> None:
    """The strongest rules of each label, for the terminal."""
    from rich.console import Console as Made
    from rich.table import Table
    from rich.text import Text

    out = console or Made()
    for one in found.found:
        out.print(Text(f"away from {printable(one.label)}: {one.rules:,} rules"), soft_wrap=True)
        if not one.lines:
            out.print("  no rule lowers this label")
            continue
        bits = [f"PMI with {printable(label)}" for label in found.labels]
        table = Table("swap", "salience", "count", *bits, box=None, padding=(0, 2, 0, 0))
        for line in one.lines:
            shifts = [f"{a:.2f} -> {b:.2f} ({b - a:+.2f})" for a, b in line.pmi]
            swap = f"{printable(line.word)} -> {printable(line.to)}"
            table.add_row(*map(Text, (swap, f"{line.salience:.2f}", str(line.count), *shifts)))
        out.print(table)
        for line in one.lines:
            for sighting in line.sightings:
                before, word, after = (printable(part) for part in _cut(sighting))
                out.print(Text(f"  {before}[{word} -> {printable(line.to)}]{after}"), soft_wrap=True)
        out.print(
            Text(
                f"of the {one.falls.total} strongest: {one.falls} take bits from the label, {one.rises} give to others"
            ),
            soft_wrap=True,
        )
