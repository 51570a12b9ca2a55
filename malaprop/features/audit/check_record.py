"""The record of malaprop check, and what is made of it: report section, JUnit XML, Markdown, annotations, badge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.paired_texts import CheckRow, MarkedRun, sign_test
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import (
    DASH,
    bullets,
    card,
    lines_of,
    plain_markdown,
    row_of_markdown,
    show_rate,
    table,
)

SHOWN = 20  # texts that newly break, by attack


@dataclass(frozen=True, slots=True, kw_only=True)
class BarResult:
    """A minimum that the user set, and the rate that was measured for it."""

    name: str
    bound: float
    row: str  # victim and attack
    found: Rate

    @property
    def passed(self) -> bool:
        return self.found.total > 0 and self.found.value >= self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord(Record):
    """The result of a check: each text's mark under each attack, and whether the model passed.

    `settings` and `runs` make it a baseline for the next check; `digests` tell whether the texts are the same.
    """

    passed: bool
    max_drop: float
    alpha: float
    baseline: str
    rows: tuple[CheckRow, ...]
    levels: tuple[CheckRow, ...] = ()  # the texts that hold under all word swaps, misspellings, look-alikes; not tested
    bars: tuple[BarResult, ...] = ()
    complete: bool = True  # no: a spending limit ended the run before every text was attacked, and nothing passes
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[MarkedRun, ...] = ()

    def findings(self) -> list[str]:
        """Return a line for each row that is less robust and for each bar that is not reached."""
        worse = [
            f"{row.victim}, {row.attack}: {_points(row.before)} at the baseline, {_points(row.now)} now; "
            f"{row.lost} texts newly break, {row.won} newly hold (p = {row.p:.2g})"
            for row in self.rows
            if row.worse
        ]
        short = [
            f"{bar.row}: {bar.name} {_points(bar.found)}, below {bar.bound:g}" for bar in self.bars if not bar.passed
        ]
        return worse + short

    def failures(self) -> list[str]:
        """Return a line for each reason why the check did not pass."""
        part = [] if self.complete else ["not every text was attacked: a spending limit ended the run; raise it"]
        return self.findings() + part

    @property
    def verdict(self) -> str:
        """passed, failed, or not decided if a spending limit ended a run without a finding."""
        return "passed" if self.passed else "failed" if self.findings() else "not decided"


def _points(rate: Rate | None) -> str:
    if rate is None or not rate.total:
        return "n/a"
    return f"{100 * rate.value:.1f}% ({rate.hits}/{rate.total})" if rate.shown else str(rate)


def smallest_drop(texts: int, rows: int, *, max_drop: float, alpha: float) -> float:
    """Return the smallest drop that the test detects if every changed text is lost and no other row drops."""
    lost = 1
    while lost <= texts and (sign_test(lost, 0) >= alpha / max(1, rows) or lost / texts <= max_drop):
        lost += 1
    return lost / texts if texts else 1.0


def level_lines(record: CheckRecord) -> list[str]:
    """Return a line for each victim with its accuracy under each kind of attack, and before in brackets."""
    found: dict[str, list[str]] = {}
    for row in record.levels:
        before = f" (before {100 * row.before.value:.1f}%)" if row.before is not None and row.before.shown else ""
        found.setdefault(row.victim, []).append(f"{row.attack} {row.now}{before}")
    return [f"{victim}, robust accuracy: {'; '.join(said)}" for victim, said in found.items()]


NAMES = ("Victim", "Attack", "Baseline", "Now", "Newly break", "Newly hold", "p", "")
_LEAD = (
    "The share of the same texts that are classified correctly, at the baseline and now. A row is less robust if it "
    "drops by more than {drop:.1%} and the paired test is significant (p below {alpha:g}, corrected for many rows)."
)
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML cannot carry
_GREEN, _RED = "#2e7d32", "#c62828"


def rows_of(record: CheckRecord) -> list[tuple[str, ...]]:
    """Return a table row for each victim and attack."""
    return [
        (
            row.victim, row.attack, show_rate(row.before), show_rate(row.now),
            *((str(row.lost), str(row.won), f"{row.p:.2g}") if row.before is not None else (DASH, DASH, DASH)),
            _verdict(row),
        )
        for row in record.rows
    ]  # fmt: skip


def _verdict(row: CheckRow) -> str:
    """Return the verdict on one row in a few words."""
    if row.before is None:
        return ""
    return "less robust" if row.worse else "as robust"


def headline(record: CheckRecord) -> str:
    """Return the verdict in one line."""
    if record.passed:
        return "passed: as robust as the baseline" if record.baseline else "passed: above every bar"
    if not (found := record.findings()):
        return "not decided: a spending limit ended the run"
    return f"failed: {len(found)} of {len(record.rows) + len(record.bars)} checks"


def examples_of(row: CheckRow) -> list[str]:
    """Return the first newly broken texts, each with its adversarial text."""
    return [
        f"{one.id}: {one.text}" + (f" -> {one.adversarial}" if one.adversarial else " (wrong as it stands)")
        for one in row.broken[:SHOWN]
    ]


def terminal(record: CheckRecord) -> str:
    victims = {row.victim for row in record.rows}
    skip = 1 if len(victims) == 1 else 0  # its name in every row would make lines too long for nothing
    rows = [row[skip:] for row in rows_of(record)]
    lines = [*level_lines(record), *(victims if skip else ()), lines_of("", NAMES[skip:], rows, boxed=False)]
    lines += [f"{bar.row}: {bar.name} {show_rate(bar.found)}, bar {bar.bound:g}" for bar in record.bars]
    for row in record.rows:
        if row.worse and row.broken:
            lines += [f"newly break ({row.victim}, {row.attack}):", *(f"  {line}" for line in examples_of(row)[:5])]
            more = row.lost - min(5, len(row.broken))
            lines += [f"  and {more} more"] if more > 0 else []
    return "\n".join([*lines, *record.notes, headline(record)])


def body(records: Sequence[CheckRecord]) -> Markup:
    parts = []
    for number, one in enumerate(records):
        broken = [
            bullets(f"Newly break: {row.victim}, {row.attack}", examples_of(row))
            for row in one.rows
            if row.worse and row.broken
        ]
        bars = [
            (bar.row, bar.name, show_rate(bar.found), f"{bar.bound:g}", "passed" if bar.passed else "below")
            for bar in one.bars
        ]
        inner = join(
            bullets("Accuracy by kind of attack", level_lines(one)),
            table("Rows", NAMES, rows_of(one)),
            table("Bars", ("Row", "Figure", "Found", "Bar", ""), bars),
            *broken,
            bullets("Notes", one.notes),
        )
        lead = _LEAD.format(drop=one.max_drop, alpha=one.alpha)
        parts.append(card(f"check-{number}", f"Gate: {headline(one)}", lead, inner))
    return join(*parts)


def junit(record: CheckRecord) -> str:
    """Return JUnit XML with a test case for each row and each minimum."""
    cases = []
    for row in record.rows:
        why = f"{row.lost} texts newly break, {row.won} newly hold, p = {row.p:.2g}" if row.worse else ""
        cases.append(_case(row.victim, row.attack, why, "\n".join(examples_of(row))))
    for bar in record.bars:
        why = "" if bar.passed else f"{bar.name} {show_rate(bar.found)} is below {bar.bound:g}"
        cases.append(_case(bar.row, bar.name, why))
    failed = sum("<failure" in case for case in cases)
    head = f'<testsuite name="malaprop check" tests="{len(cases)}" failures="{failed}" errors="0" skipped="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"


def _case(group: str, name: str, why: str, more: str = "") -> str:
    named = f"classname={_quote(group)} name={_quote(name)}"
    if not why:
        return f"  <testcase {named}/>"
    return f"  <testcase {named}><failure message={_quote(why)}>{escape(_fit(more))}</failure></testcase>"


def _fit(text: str) -> str:
    return _UNFIT.sub("\ufffd", text)


def _quote(text: str) -> str:
    return quoteattr(_fit(text))


def markdown(record: CheckRecord) -> str:
    """Return the Markdown page for the summary of a CI job."""
    lines = [
        f"### malaprop check: {headline(record)}",
        "",
        *(f"- {plain_markdown(line)}" for line in level_lines(record)),
        *([""] if record.levels else []),
        row_of_markdown(NAMES),
        row_of_markdown(["---"] * len(NAMES)),
    ]
    lines += [row_of_markdown(row) for row in rows_of(record)]
    lines += ["", *(f"- {plain_markdown(line)}" for line in record.failures())] if record.failures() else []
    for row in record.rows:
        if row.worse and row.broken:
            named = plain_markdown(f"{row.victim}, {row.attack}")
            lines += ["", f"<details><summary>newly break: {named}</summary>", ""]
            lines += [*(f"- {plain_markdown(line)}" for line in examples_of(row)), "", "</details>"]
    lines += ["", *(plain_markdown(note) for note in record.notes)]
    return "\n".join(lines).rstrip() + "\n"


def annotate(record: CheckRecord) -> list[tuple[str, str, str]]:
    """Return level, title and message of the annotations that a CI job shows beside the code."""
    return [("error", "malaprop check", line) for line in record.failures()]


def badge(record: CheckRecord) -> str:
    """Return an SVG badge: the lowest accuracy under each kind of attack, green where the check passed.

    If no kind is known it has the lowest accuracy of any row under attack.
    """
    under = [row.now for row in record.rows if row.attack != "no attack" and row.now.shown]
    least: dict[str, float] = {}
    for row in record.levels:
        if row.now.shown:
            least[row.attack] = min(least.get(row.attack, 1.0), row.now.value)
    worst = ", ".join(f"{name} {100 * value:.0f}%" for name, value in least.items())
    worst = worst or (f"{100 * min(rate.value for rate in under):.0f}%" if under else "n/a")
    said = f"{worst} {record.verdict}"
    name, color = "robustness", _GREEN if record.passed else _RED
    left, right = 6 * len(name) + 22, 7 * len(said) + 14
    total = left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{name}: {said}">'
        f"<title>{name}: {said}</title>"
        f'<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="{color}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{name}</text><text x="{left + right / 2:g}" y="14">{said}</text></g></svg>\n'
    )


SECTION = Section(rank=10, title="Gate", body=body, terminal=terminal)
