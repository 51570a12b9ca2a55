"""The trials and the choice of `harden auto` in the report and in the terminal, from its record alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.frame.records.autoharden import AutoHardenRecord, AutoTrial
from malaprop.frame.report.markup import Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, card, lines_of, table, text_of

TITLE = "Hardening chosen"
HEAD = ("Method", "Stage", "Epochs", "Right without attack", "Under the worst attack", "Gain", "Seconds", "Remark")


def rows_of(record: AutoHardenRecord) -> list[tuple[str, ...]]:
    """Return a row for each trial, the second stage first."""
    return [_row(one, record) for one in sorted(record.trials, key=lambda one: -one.stage)]


def _row(one: AutoTrial, record: AutoHardenRecord) -> tuple[str, ...]:
    chosen = "chosen" if (one.stage, one.method) == (2, record.chosen) else ""
    gain = DASH if one.method == "none" else text_of(one.gain)
    figures = text_of(one.clean), text_of(one.worst), gain, f"{one.seconds:.0f}"
    return one.method, str(one.stage), str(one.epochs or DASH), *figures, one.reason or chosen


def describe(record: AutoHardenRecord) -> str:
    """Describe the conditions of the search in a line."""
    rows = f"rows of {record.data}" if record.doubt else f"validation texts of {record.data}"
    return (
        f"{record.model} on {rows}: {' and '.join(record.attacks)}, up to {record.texts:,} texts, within "
        f"{record.budget:,.0f} s. Stage 1 trains shortly and attacks fewer texts; stage 2 has the best."
        + (f" Not held out: {record.doubt}." if record.doubt else "")
    )


def body(records: Sequence[AutoHardenRecord]) -> Markup:
    """Return a card for each search."""
    cards = list[Markup]()
    for one in records:
        plan = tag("p", f"Plan: {one.plan}.") if one.plan else ""
        parts = plan, tag("p", f"Why: {one.why}."), table("Tried", HEAD, rows_of(one))
        cards.append(card(f"autoharden-{len(cards)}", TITLE, describe(one), *parts))
    return join(*cards)


def terminal(record: AutoHardenRecord) -> str:
    """Return the trials for the terminal, with rates without their intervals."""
    rows = [
        (*row[:3], *(cell.partition(" (")[0] for cell in row[3:6]), *row[6:]) for row in rows_of(record)
    ]  # fmt: skip
    names = ("method", "stage", "epochs", "clean", "worst", "gain", "seconds", "remark")
    return f"{lines_of(describe(record), names, rows)}\n\nwhy: {record.why}"


SECTION = Section(rank=41, title=TITLE, body=body, terminal=terminal)
