"""What the training data taught the model: the strongest replacement rules and the bits behind them, from a record."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import card, lines_of, printable, table
from malaprop.papers.universal.rules.diagnosis_record import DiagnosisRecord, LabelRules, RuleLine, Sighting

TITLE = "What your training data taught the model"
_AROUND = 90  # characters shown on each side of a word


def diagnoses(found: Sequence[DiagnosisRecord]) -> Markup:
    """A card for each record; nothing where there is none."""
    return join(*(_card(one, number) for number, one in enumerate(found)))


def _card(found: DiagnosisRecord, number: int) -> Markup:
    lead = (
        f"Swaps of synonyms that turn models away from a label ({found.rules}), and how often the {found.texts:,} "
        f"texts of {found.data} have each word under each label. Bits say how much a word speaks for a label; 0 bits: "
        "never seen with it. A swap that keeps the meaning of a text, takes bits from its label and gives them to "
        "another shows what the model learned from the data's habits instead."
    )
    body: list[Child] = []
    if found.lacking:
        body.append(tag("p", f"The rules also speak of labels that the data lacks: {', '.join(found.lacking)}."))
    body += [part for one in found.found for part in _label(found, one)]
    return card(f"rules-{number}", TITLE, lead, *body)


def _label(found: DiagnosisRecord, one: LabelRules) -> list[Child]:
    title = f"Away from {one.label}"
    if not one.lines:
        return [tag("h3", title), tag("p", "No rule lowers this label.", class_="quiet")]
    note = (
        f"{one.rules:,} rules. Of the {one.falls.total} strongest, one for each word, {one.falls} put a word that goes "
        f"less with {one.label} in the data, and {one.rises} one that goes more with the other labels."
    )
    names = ("Swap", "Salience", "Measured", *(f"{label}, bits" for label in found.labels), "In the data")
    rows = [
        (
            f"{line.word} → {line.to}",
            f"{line.salience:.2f}",
            f"{line.count:,}",
            *(_bits(line, place) for place in range(len(found.labels))),
            join(*(_sighting(s, line.to) for s in line.sightings)),
        )
        for line in one.lines
    ]
    return [table(title, names, rows, note)]


def _bits(line: RuleLine, place: int) -> Markup:
    (before, after), (had, has) = line.pmi[place], line.seen[place]
    return join(
        f"{before:.2f} → {after:.2f} {_arrow(after - before)}", tag("br"), tag("span", f"{had:,} → {has:,} times")
    )


def _arrow(shift: float) -> str:
    return "" if abs(shift) < 0.005 else ("↑" if shift > 0 else "↓")


def _split_around(found: Sighting) -> tuple[str, str, str]:
    """What stands before the word, the word, and what stands behind it."""
    text, start, end = found.text, max(0, found.start), max(0, found.end)
    before, after = text[:start], text[end:]
    if len(before) > _AROUND:
        before = f"… {before[-_AROUND:]}"
    if len(after) > _AROUND:
        after = f"{after[:_AROUND]} …"
    return before, text[start:end], after


def _sighting(found: Sighting, to: str) -> Markup:
    before, word, after = _split_around(found)
    return tag("p", before, tag("del", word), " ", tag("ins", to), after)


def terminal(found: DiagnosisRecord) -> str:
    """The strongest rules of each label, and texts with them."""
    return "\n".join(line for one in found.found for line in _describe(found, one))


def _describe(found: DiagnosisRecord, one: LabelRules) -> list[str]:
    start = f"away from {printable(one.label)}: {one.rules:,} rules"
    if not one.lines:
        return [start, "  no rule lowers this label"]
    rows = []
    for line in one.lines:
        shifts = [f"{a:.2f} -> {b:.2f} ({b - a:+.2f})" for a, b in line.pmi]
        rows.append((f"{line.word} -> {line.to}", f"{line.salience:.2f}", str(line.count), *shifts))
    bits = [f"PMI with {label}" for label in found.labels]
    parts = [start, lines_of("", ("swap", "salience", "count", *bits), rows, boxed=False)]
    for line in one.lines:
        for before, word, after in map(_split_around, line.sightings):
            parts.append(printable(f"  {before}[{word} -> {line.to}]{after}"))
    many = (
        f"of the {one.falls.total} strongest rules {one.falls} put a word that goes less with the label in the data, "
        f"{one.rises} one that goes more with other labels"
    )
    return [*parts, many]


SECTION = Section(rank=70, title=TITLE, body=diagnoses, terminal=terminal)
