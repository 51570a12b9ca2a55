"""The summary of runs as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from malaprop.frame.records import Outcome, Rate, Run
from malaprop.frame.records.run import is_classification
from malaprop.frame.report.levels import measure_levels
from malaprop.frame.report.run_entries import (
    RunEntry,
    by_victim,
    cheapest,
    describe_draws,
    describe_stop,
    describe_validity,
    entries,
    strongest,
)
from malaprop.frame.report.tables import keep_words, number

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table

_COLUMNS = ("attack", "accuracy under attack", "success", "changed", "queries")
_FLIPPED = "label flipped"  # the raw figure, beside those on texts that keep their meaning
_ANY = 10_000  # characters, wider than any table


def _row(entry: RunEntry, extra: Sequence[str], apart: Sequence[str], wrong: bool) -> tuple[str, ...]:
    s = entry.summary
    share = "-" if s.changed_share.mean is None else f"{100 * s.changed_share.mean:.1f}%"
    name = f"{entry.attack} ({entry.missing} not done)" if entry.missing else entry.attack
    raw = [_percent(s.validity.flipped if s.validity else s.success)] if _FLIPPED in extra else []
    measures = (_short(s.measures[m].mean) if m in s.measures else "-" for m in extra if m != _FLIPPED)
    errors = (str(s.counts["error"]),) if wrong else ()
    rates = (str(s.robust), _percent(s.broken), share, number(s.asked.median))
    return name, *rates, *raw, *measures, *_apart(entry, apart), *errors


def _percent(rate: Rate) -> str:
    """Return a rate in round percent with its counts."""
    counts = f"({rate.hits}/{rate.total})" if rate.total else ""
    return f"{100 * rate.value:.0f}% {counts}" if rate.shown else f"- {counts}".rstrip()


_APART = {
    "nothing to change": "nothing_to_change",
    "the target already": "target_already",
    "no label": "no_label",
    "rejected clean": "rejected_clean",
    "rejected attacked": "rejected_attacked",
}


def _apart(entry: RunEntry, names: Sequence[str]) -> tuple[str, ...]:
    """Return the counts of texts that are reported beside the rates."""
    return tuple(str(getattr(entry.summary, _APART[name])) for name in names)


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def summary_table(victim: str, group: Sequence[RunEntry], *, room: int | None = None) -> Table:
    """Return one victim's table: clean accuracy above, a row for each attack, the cheapest named below.

    If the terminal has too little `room` for one line a row, cells take more lines: none may be cut off with dots.
    """
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    clean = max((e.summary.clean for e in group), key=lambda rate: rate.total)
    cheap = cheapest(group)
    none = "no attack breaks more than half" if strongest(group) is not None else "no rate to show"
    note = none if cheap is None else f"cheapest attack: {cheap.attack}"
    lines = (f"{victim}, clean accuracy {clean}", _levels(group), describe_draws(group), describe_stop(group))
    title = escape("\n".join(filter(None, lines)))
    judged = describe_validity(group)
    counts = "success: of texts it got right, with the meaning kept" if judged else "success: of texts it got right"
    about = f"{f'{judged}; ' if judged else ''}{note}; {counts}; queries: median"
    table = Table(title=title, caption=escape(about), box=SIMPLE_HEAD, title_justify="left", caption_justify="left")
    extra = [_FLIPPED] if any(e.summary.validity for e in group) else []
    extra += sorted({name for e in group for name in e.summary.measures if not name.endswith("_before")})
    wrong = any(entry.summary.counts["error"] for entry in group)
    apart = [name for name, field in _APART.items() if any(getattr(entry.summary, field) for entry in group)]
    for place, name in enumerate((*_COLUMNS, *extra, *apart, *(["errors"] if wrong else []))):
        side: JustifyMethod = "left" if place == 0 else "right"
        table.add_column(name, justify=side, no_wrap=place > 0 and room is None, overflow="fold")
    rows = [_row(entry, extra, apart, wrong) for entry in group]
    for row in rows:
        table.add_row(*map(Text, row))
    if room is not None:
        keep_words(table, [[str(column.header) for column in table.columns], *rows], room)
    return table


def _levels(group: Sequence[RunEntry]) -> str:
    """Return the accuracy under each kind of attack as a line of text; empty for one attack alone."""
    known = [one for one in measure_levels(group) if one.attacks > 1 and one.every.shown]
    return "\n".join(f"robust accuracy: {one.sentence}" for one in known)


def print_summary(runs: Sequence[tuple[Run, Sequence[Outcome]]], console: Console | None = None) -> None:
    """Print a table for each classifier that was attacked to the console, by default to standard output."""
    from rich.console import Console as RichConsole

    out = console or RichConsole()
    labelled = [(run, found) for run, found in runs if is_classification(run)]
    for victim, group in by_victim(entries(labelled)).items():
        table = summary_table(victim, group)
        names = [out.measure(cell) for cell in table.columns[0].cells]  # names may wrap in any case
        spared = max(name.maximum for name in names) - max(name.minimum for name in names)
        wanted = out.measure(table, options=out.options.update(max_width=_ANY)).maximum - spared
        out.print(summary_table(victim, group, room=out.width) if wanted > out.width else table)
