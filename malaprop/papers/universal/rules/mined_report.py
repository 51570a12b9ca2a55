"""The part of the page that shows what rules were mined, from their record alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import card, number, printable, table
from malaprop.papers.universal.rules.mined_record import MinedRecord

TITLE = "Word replacement rules"


def body(records: Sequence[MinedRecord]) -> Markup:
    """A card for each record."""
    return join(*(_card(record, place) for place, record in enumerate(records)))


def _card(record: MinedRecord, place: int) -> Markup:
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
        f"mined-{place}", TITLE, lead, table("Rules kept", ("Label", "Rules"), counts),
        table("The strongest, one a word", ("Label", "Rule", "Salience", "Measured"), rows),
    )  # fmt: skip


def terminal(record: MinedRecord) -> str:
    labels = ", ".join(f"{name} {count:,}" for name, count in record.by_label.items())
    return printable(f"{record.rules:,} rules from {record.texts:,} texts ({labels})")


SECTION = Section(rank=69, title=TITLE, body=body, terminal=terminal)
