"""The records of the rule commands (rules mined, measured, and beside the data) and their sections of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from malaprop.attacks.rule_files import Rule
from malaprop.core.codec import Real
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate, Spread
from malaprop.frame.report.figures import Axis, Mark, legend, percent, rate_chart
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import card, lines_of, number, panel, panels, printable, share, table


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkageFigures:
    """How rules with few counts were shrunk towards zero: salience = mean x count / (count + strength)."""

    strength: float
    within: float | None = None
    between: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedRules:
    """The counts over all texts: `weighed` measured replacements of words, of which `rules` were kept as rules.

    `reasons` says why texts were left out, and how many; `seconds` are those of finding replacements and of asking the
    victims, in all processes together.
    """

    texts: int
    left_out: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    replacements: int
    weighed: int
    rules: int
    by_label: Mapping[str, int]
    shrinkage: ShrinkageFigures
    seconds: Mapping[str, float]
    processor_seconds: float
    strongest: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedRecord(WeighedRules, Record):
    """How the rules beside this file were mined, and the strongest of them; `agreement` compares both methods."""

    method: str
    victims: tuple[str, ...]
    data: str
    labels: tuple[str, ...]
    seed: int
    agreement: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell:
    """One file of rules on one victim: `words` is the share of words changed in the successes.

    `within` is the success where at most so large a share of the words, its key, may change.
    """

    rules: str
    victim: str
    success: Rate
    words: Spread
    within: dict[str, Rate]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRules:
    """One file of rules over all victims: the mean of their success, with a 95% interval by resampling texts.

    `ahead` is the difference to the first file's mean, resampled on the same texts; victims are not resampled.
    `everywhere`: of the texts that all victims classify correctly, on how many the rules succeed against all.
    """

    rules: str
    mean: Real
    low: Real
    high: Real
    words: float | None
    ahead: tuple[Real, Real, Real] | None
    everywhere: Rate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRecord(Record):
    """The result of measuring rules: all files on all victims; `share` is the largest share of words to change."""

    data: str
    n: int
    share: float
    files: tuple[str, ...]
    cells: tuple[MeasuredCell, ...]
    wholes: tuple[MeasuredRules, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, rates with their intervals."""
        cells = [
            {
                "rules": cell.rules,
                "victim": cell.victim,
                "success": cell.success.to_dict(),
                "words": cell.words.to_dict(),
                "within": {share: rate.to_dict() for share, rate in cell.within.items()},
            }
            for cell in self.cells
        ]
        return {**Record.to_dict(self), "cells": cells}


FILE = "diagnosis.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A text of the data that holds the word, from `start` to `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """A rule: bits of both words with each label, how often each stands under each label, and texts with the word."""

    word: str
    to: str
    salience: float
    count: int
    pmi: tuple[tuple[float, float], ...]
    seen: tuple[tuple[int, int], ...]
    sightings: tuple[Sighting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRules:
    """One label: of its strongest rules, one a word, how many take bits from the label and how many give to others."""

    label: str
    rules: int
    falls: Rate
    rises: Rate
    lines: tuple[RuleLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisRecord(Record):
    """How rules relate to the data, by label.

    `labels` are those of the data, in the order of `RuleLine.pmi`; `lacking` are labels of rules that it lacks.
    """

    rules: str
    data: str
    texts: int
    labels: tuple[str, ...]
    found: tuple[LabelRules, ...]
    lacking: tuple[str, ...] = ()


MINED_TITLE = "Word replacement rules"


def mined_cards(records: Sequence[MinedRecord]) -> Markup:
    """Return a card for each record."""
    return join(*(_mined_card(record, place) for place, record in enumerate(records)))


def _mined_card(record: MinedRecord, place: int) -> Markup:
    lead = (
        f"{record.weighed:,} replacements of words weighed on {record.texts:,} texts of {record.data} by what they do "
        f"to the mean of {', '.join(record.victims)} ({record.method}). Salience is the fall of the label's logit and "
        "the rise of the others', on average, drawn to zero where a rule was weighed seldom."
    )
    rows = [
        (rule.label, f"{rule.word} → {rule.to}", number(rule.salience, ".3f"), f"{rule.count:,}")
        for rule in record.strongest
    ]
    counts = [(label, f"{many:,}") for label, many in record.by_label.items()]
    return card(
        f"mined-{place}", MINED_TITLE, lead, table("Rules kept", ("Label", "Rules"), counts),
        table("The strongest, one a word", ("Label", "Rule", "Salience", "Measured"), rows),
    )  # fmt: skip


def mined_terminal(record: MinedRecord) -> str:
    labels = ", ".join(f"{name} {count:,}" for name, count in record.by_label.items())
    return printable(f"{record.rules:,} rules from {record.texts:,} texts ({labels})")


MINED = Section(rank=69, title=MINED_TITLE, body=mined_cards, terminal=mined_terminal)


MEASURED_TITLE = "Rules put to the test"


def measured_cards(found: Sequence[MeasuredRecord]) -> Markup:
    """Return a card for each record."""
    return join(*(_measured_card(record, number) for number, record in enumerate(found)))


def _measured_card(record: MeasuredRecord, number: int) -> Markup:
    lead = (
        f"{len(record.files)} files of word replacement rules on {record.n:,} texts of {record.data}: no victim is "
        f"asked which rule to take, and at most {percent(record.share)} of the words change. Attack success is over "
        "texts that a victim got right, with 95% intervals; those of the mean come from drawing texts anew."
    )
    names = ("Victim", "Rules", "Attack success", "Words changed")
    shown = table("Every file on every victim", names, measured_rows(record))
    return card(f"measured-{number}", MEASURED_TITLE, lead, _measured_figure(record), shown)


def measured_rows(record: MeasuredRecord) -> list[tuple[str, ...]]:
    """Return a row for each victim and file, then the means over victims."""
    each = [(c.victim, c.rules, str(c.success), share(c.words.mean)) for c in record.cells]
    return [*each, *(("mean of victims", one.rules, _measured_mean(one), share(one.words)) for one in record.wholes)]


def _measured_mean(one: MeasuredRules) -> str:
    more = "" if one.ahead is None else " ahead {:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in one.ahead))
    return f"{100 * one.mean:.1f}% ({100 * one.low:.1f}-{100 * one.high:.1f}){more}"


def _measured_figure(record: MeasuredRecord) -> Markup:
    curves = [
        (f"{c.rules} on {c.victim}", color, [Mark.of(float(at), rate) for at, rate in c.within.items() if rate.total])
        for color, c in enumerate(record.cells)
    ]
    most = max((mark.at for _, _, marks in curves for mark in marks), default=0.0)
    if not most:
        return Markup("")
    title = "Attack success against the share of words that may change"
    axis = Axis(label="Share of words changed at most", low=0, high=most, show=percent)
    key = legend([(name, color) for name, color, _ in curves])
    return panels(panel(title, rate_chart(title, "Attack success", curves, axis), key), kind="panels lone")


def measured_terminal(record: MeasuredRecord) -> str:
    return lines_of("", ("victim", "rules", "attack success", "words changed"), measured_rows(record), boxed=False)


MEASURED = Section(rank=71, title=MEASURED_TITLE, body=measured_cards, terminal=measured_terminal)


DIAGNOSIS_TITLE = "What your training data taught the model"
_AROUND = 90  # characters shown on each side of a word


def diagnosis_cards(found: Sequence[DiagnosisRecord]) -> Markup:
    """Return a card for each record."""
    return join(*(_diagnosis_card(one, number) for number, one in enumerate(found)))


def _diagnosis_card(found: DiagnosisRecord, number: int) -> Markup:
    lead = (
        f"Swaps of synonyms that turn models away from a label ({found.rules}), and how often the {found.texts:,} "
        f"texts of {found.data} have each word under each label. Bits say how much a word speaks for a label; 0 bits: "
        "never seen with it. A swap that keeps the meaning of a text, takes bits from its label and gives them to "
        "another shows what the model learned from the data's habits instead."
    )
    body: list[Child] = []
    if found.lacking:
        body.append(tag("p", f"The rules also speak of labels that the data lacks: {', '.join(found.lacking)}."))
    body += [part for one in found.found for part in _label_tables(found, one)]
    return card(f"rules-{number}", DIAGNOSIS_TITLE, lead, *body)


def _label_tables(found: DiagnosisRecord, one: LabelRules) -> list[Child]:
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
            *(_show_bits(line, place) for place in range(len(found.labels))),
            join(*(_show_sighting(s, line.to) for s in line.sightings)),
        )
        for line in one.lines
    ]
    return [table(title, names, rows, note)]


def _show_bits(line: RuleLine, place: int) -> Markup:
    (before, after), (had, has) = line.pmi[place], line.seen[place]
    return join(
        f"{before:.2f} → {after:.2f} {_arrow(after - before)}", tag("br"), tag("span", f"{had:,} → {has:,} times")
    )


def _arrow(shift: float) -> str:
    return "" if abs(shift) < 0.005 else ("↑" if shift > 0 else "↓")


def _split_around(found: Sighting) -> tuple[str, str, str]:
    """Split a text into what stands before the word, the word, and what stands behind it."""
    text, start, end = found.text, max(0, found.start), max(0, found.end)
    before, after = text[:start], text[end:]
    if len(before) > _AROUND:
        before = f"… {before[-_AROUND:]}"
    if len(after) > _AROUND:
        after = f"{after[:_AROUND]} …"
    return before, text[start:end], after


def _show_sighting(found: Sighting, to: str) -> Markup:
    before, word, after = _split_around(found)
    return tag("p", before, tag("del", word), " ", tag("ins", to), after)


def diagnosis_terminal(found: DiagnosisRecord) -> str:
    """Return the text for the terminal: the strongest rules of each label, and texts with their words."""
    return "\n".join(line for one in found.found for line in _describe_label(found, one))


def _describe_label(found: DiagnosisRecord, one: LabelRules) -> list[str]:
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


DIAGNOSIS = Section(rank=70, title=DIAGNOSIS_TITLE, body=diagnosis_cards, terminal=diagnosis_terminal)
