"""The report section on what a run has spent."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.frame.records.spending import STATES, SpendingRecord
from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, card, lines_of, table

NAMES = ("", "Spent", "Limit")
_PART = "The rates above are over attacks that ended; the same command with a higher limit goes on."


def rows_of(record: SpendingRecord) -> list[tuple[str, str, str]]:
    """Return a table row (name, spent, limit) for each quantity that is counted."""
    limits = record.limits
    rows: list[tuple[str, float, float | None, str]] = [("Queries", record.queries, limits.queries, ",.0f")]
    if limits.counts_tokens or record.tokens_in:
        rows.append(("Tokens of requests", record.tokens_in, None, ",.0f"))
        rows.append(("Tokens of answers", record.tokens_out, None, ",.0f"))
    if limits.tokens is not None:
        rows.append(("Tokens together", record.tokens_in + record.tokens_out, limits.tokens, ",.0f"))
    if limits.priced:
        rows.append(("Money", record.cost, limits.cost, ",.4g"))
    rows.append(("Minutes", record.seconds / 60, limits.minutes, ",.1f"))
    return [(name, format(used, form), DASH if most is None else format(most, form)) for name, used, most, form in rows]


def lead(record: SpendingRecord) -> str:
    """Return a sentence on how the run ended."""
    if record.state == "budget":
        return f"Ended by its budget: {record.reached} was reached. {_PART}"
    return f"State: {record.state} ({STATES.get(record.state, 'not known')})."


def body(records: Sequence[SpendingRecord]) -> Markup:
    return join(
        *(
            card(f"spending-{n}", "What it cost", lead(one), table("Spent", NAMES, rows_of(one)))
            for n, one in enumerate(records)
        )
    )


def terminal(record: SpendingRecord) -> str:
    return lines_of(lead(record), NAMES, rows_of(record))


SECTION = Section(rank=90, title="What it cost", body=body, terminal=terminal)
