"""The part of the page that shows files of rules on victims, from their record alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.frame.report.figures import Axis, Mark, legend, percent, rate_chart
from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import card, lines_of, panel, panels, share, table
from malaprop.papers.universal.rules.measured_record import MeasuredRecord, MeasuredRules

TITLE = "Rules put to the test"


def measurements(found: Sequence[MeasuredRecord]) -> Markup:
    """A card for each record; nothing where there is none."""
    return join(*(_card(record, number) for number, record in enumerate(found)))


def _card(record: MeasuredRecord, number: int) -> Markup:
    lead = (
        f"{len(record.files)} files of word replacement rules on {record.n:,} texts of {record.data}: no victim is "
        f"asked which rule to take, and at most {percent(record.share)} of the words change. Attack success is over "
        "texts that a victim got right, with 95% intervals; those of the mean come from drawing texts anew."
    )
    names = ("Victim", "Rules", "Attack success", "Words changed")
    shown = table("Every file on every victim", names, rows(record))
    return card(f"measured-{number}", TITLE, lead, _figure(record), shown)


def rows(record: MeasuredRecord) -> list[tuple[str, ...]]:
    """A line a file and victim, then the means over victims."""
    each = [(c.victim, c.rules, str(c.success), share(c.words.mean)) for c in record.cells]
    return [*each, *(("mean of victims", one.rules, _mean(one), share(one.words)) for one in record.wholes)]


def _mean(one: MeasuredRules) -> str:
    more = "" if one.ahead is None else " ahead {:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in one.ahead))
    return f"{100 * one.mean:.1f}% ({100 * one.low:.1f}-{100 * one.high:.1f}){more}"


def _figure(record: MeasuredRecord) -> Markup:
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


def terminal(record: MeasuredRecord) -> str:
    return lines_of("", ("victim", "rules", "attack success", "words changed"), rows(record), boxed=False)


SECTION = Section(rank=71, title=TITLE, body=measurements, terminal=terminal)
