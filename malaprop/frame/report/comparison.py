"""A comparison of two sets of runs on the same texts: which texts newly hold under attack, and which newly break."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.frame.records import Outcome
from malaprop.frame.records.paired_texts import CheckRow, MarkedRun, compare, mark, sign_test
from malaprop.frame.report.diff import mark_changes
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.run_entries import RunEntry, by_victim, entries
from malaprop.frame.report.tables import bullets, card, lines_of, show_rate, table

SHOWN = 50  # texts shown per attack, newly holding and newly broken each
NAMES = ("Victim", "Attack", "Before", "Now", "Newly hold", "Newly break", "p, two-sided")
_LEAD = (
    "The same texts before and now. A text holds if the model is right without the attack and the attack fails. "
    "p is the exact McNemar test on the texts that changed: the chance of a difference this large if a change were as "
    "likely to help as to harm. It is not corrected for the number of rows."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunPair:
    """One attack's runs before and now, with the outcomes of the texts that both have."""

    before: RunEntry
    now: RunEntry
    texts: Sequence[tuple[Outcome, Outcome]]

    @property
    def won(self) -> list[Outcome]:
        """The earlier outcomes of the texts that newly hold."""
        return [old for old, new in self.texts if mark(old) != "held" and mark(new) == "held"]

    @property
    def lost(self) -> list[Outcome]:
        """The present outcomes of the texts that newly break."""
        return [new for old, new in self.texts if mark(old) == "held" and mark(new) != "held"]

    def mark_side(self, side: int) -> MarkedRun:
        """Return the marks of one side (0 before, 1 now), both under the victim's present name."""
        marks = {pair[1].id: mark(pair[side]) for pair in self.texts}
        return MarkedRun(victim=self.now.victim, attack=self.now.attack, marks=marks)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """Paired runs, a row of figures for each pair and for all attacks, and notes on runs without a partner."""

    pairs: Sequence[RunPair]
    rows: Sequence[CheckRow]
    alone: Sequence[str]

    def cells(self) -> list[tuple[str, ...]]:
        """Return the cells of the table, row by row."""
        return [
            (
                row.victim, row.attack, show_rate(row.before), show_rate(row.now), str(row.won), str(row.lost),
                f"{_chance(row):.2g}",
            )
            for row in self.rows
        ]  # fmt: skip

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the figures of each row as plain values for JSON."""
        return [
            {
                "victim": row.victim,
                "attack": row.attack,
                "texts": row.now.total,
                "held_before": 0 if row.before is None else row.before.hits,
                "held_now": row.now.hits,
                "newly_hold": row.won,
                "newly_break": row.lost,
                "p": _chance(row),
            }
            for row in self.rows
        ]

    def terminal(self) -> str:
        """Return the table and the runs without a partner as text; a single victim goes into the title."""
        victims = {row.victim for row in self.rows}
        skip = 1 if len(victims) == 1 else 0
        title = ", ".join(["Before and now, on the same texts", *(victims if skip else ())])
        return "\n".join([lines_of(title, NAMES[skip:], [row[skip:] for row in self.cells()]), *self.alone])

    def body(self) -> Markup:
        """Return the card of the page: the table, then the texts of each attack."""
        texts = (part for pair in self.pairs for part in _show_texts(pair))
        inner = (table("Accuracy under attack", NAMES, self.cells()), *texts, bullets("Without a partner", self.alone))
        return card("comparison", "Before and now", _LEAD, *inner)


def compare_runs(before: Sequence[Any], now: Sequence[Any]) -> Comparison:
    """Pair the runs of two reports by attack, and by victim too if a side has several, and compare them.

    A text is in a pair if both sides have its id with the same words, and neither ended in an error.
    """
    old, new = (entries(runs) for runs in (before, now))
    several = max(len(by_victim(side)) for side in (old, new)) > 1
    partners = {_name(entry, several): entry for entry in old}
    found, alone = list[RunPair](), list[str]()
    for entry in new:
        partner = partners.pop(_name(entry, several), None)
        texts = [] if partner is None else _match(partner.outcomes, entry.outcomes)
        if partner is None or not texts:
            why = "no such run before" if partner is None else "no text in common with the run before"
            alone.append(f"{entry.victim}, {entry.attack}: {why}")
            continue
        found.append(RunPair(before=partner, now=entry, texts=texts))
    alone += [f"{entry.victim}, {entry.attack}: only before" for entry in partners.values()]
    if not found:
        raise RecordError(
            f"the two sides cannot be compared: {'; '.join(alone) or 'there are no runs'}; run the same attacks on the "
            "same texts"
        )
    rows = compare(
        [pair.mark_side(0) for pair in found], [pair.mark_side(1) for pair in found], max_drop=0.0, alpha=0.05
    )
    return Comparison(pairs=found, rows=rows, alone=alone)


def _name(entry: RunEntry, several: bool) -> tuple[str, ...]:
    """Return the key by which runs are paired: without the victim if there is only one, as hardening renames it."""
    return (entry.victim, entry.attack) if several else (entry.attack,)


def _match(old: Sequence[Outcome], new: Sequence[Outcome]) -> list[tuple[Outcome, Outcome]]:
    known = {one.id: one for one in old if one.status != "error"}
    pairs = [(known[one.id], one) for one in new if one.id in known and one.status != "error"]
    return [(first, one) for first, one in pairs if first.original.fields == one.original.fields]


def _chance(row: CheckRow) -> float:
    """Return the p-value of the exact two-sided McNemar test."""
    return min(1.0, 2 * min(sign_test(row.lost, row.won), sign_test(row.won, row.lost)))


def _show_texts(pair: RunPair) -> Iterator[Markup]:
    """Yield folded lists of the texts that newly hold or newly break under one attack."""
    who = f"{pair.now.victim}, {pair.now.attack}"
    for outcomes, what in ((pair.won, "newly hold; shown as they broke before"), (pair.lost, "newly break")):
        if not outcomes:
            continue
        rest = len(outcomes) - SHOWN
        more = tag("p", f"and {rest:,} more", class_="quiet") if rest > 0 else None
        items = tag("ul", *(tag("li", _show(one)) for one in outcomes[:SHOWN]), class_="texts")
        yield tag("details", tag("summary", f"{who}: {len(outcomes):,} {what}"), items, more)


def _show(outcome: Outcome) -> Markup:
    """Return a text with its changes marked; a text that was wrong without an attack carries a note."""
    if outcome.status == "skipped":
        return join(outcome.original.text, tag("span", "wrong without an attack", class_="reason"))
    marks = {"same": None, "old": "del", "new": "ins"}
    fields = [
        [tag(name, piece.text) if (name := marks[piece.kind]) else piece.text for piece in pieces]
        for pieces in mark_changes(outcome).values()
    ]
    shown: list[Child] = []
    for number, pieces in enumerate(fields):
        shown += [tag("br") if number else None, *pieces]
    return join(*shown)
