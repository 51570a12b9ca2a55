"""The page, the text and the terminal's table of claims put to the test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.records.claims import VERDICTS, Claims, Row
from malaprop.records.documents import write_whole
from malaprop.reports.markup import Markup, join, tag
from malaprop.reports.style import style

if TYPE_CHECKING:
    from rich.console import Console

TITLE = "What the papers claim, and what came out here"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLE = (
    ".claims td,.claims th{padding:10px 12px;vertical-align:top;border-top:1px solid var(--line);font-size:14px;"
    "overflow-wrap:anywhere;min-width:90px}.claims .wide{min-width:240px}.verdict{font-weight:600;white-space:nowrap}"
    ".is-holds,.is-leans{color:var(--new)}.is-fails,.is-does{color:var(--old)}"
)
_COLUMNS = ("Row", "Claim", "Paper", "Here", "Says")


def write_claims(found: Sequence[Claims], out: Path, title: str = TITLE) -> Path:
    """A page of its own; written whole or not at all."""
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style() + _STYLE)),
    )
    bar = tag("div", tag("p", "Malaprop", class_="mark"), class_="bar")
    top = tag("header", bar, tag("h1", title), class_="top")
    cards = join(*(_paper(record, paper) for record in found for paper in _papers(record)))
    body = tag("body", top, tag("main", *map(_lead, found), cards, _legend()))
    return write_whole(out, f"<!doctype html>\n{tag('html', tag('head', head), body, lang='en')}\n")


def write_text(record: Claims, path: Path) -> Path:
    """The same tables as Markdown."""
    lines = [f"# {TITLE}", "", summary(record), ""]
    for paper in _papers(record):
        lines += [f"## {paper}", "", f"| {' | '.join(_COLUMNS)} |", "| --- | --- | --- | --- | --- |"]
        lines += [
            f"| {' | '.join(_plain(cell) for cell in _cells(row))} |" for row in record.rows if row.paper == paper
        ]
        lines.append("")
    return write_whole(path, "\n".join(lines))


def print_claims(record: Claims, console: Console | None = None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console as Made
    from rich.table import Table
    from rich.text import Text

    out = console or Made()
    table = Table(*_COLUMNS, box=SIMPLE_HEAD, show_lines=True)
    for row in record.rows:
        table.add_row(*map(Text, _cells(row)))
    out.print(table)
    out.print(summary(record), markup=False, highlight=False)


def print_list(record: Claims) -> None:
    """What would be run: the claims of each paper, and the commands behind them."""
    for paper in _papers(record):
        rows = [row for row in record.rows if row.paper == paper]
        print(paper)
        for row in rows:
            print(f"  {row.id:4} {row.claim}; paper: {row.theirs}{'' if row.commands else f' ({row.ours})'}")
        for command in dict.fromkeys(command for row in rows for command in row.commands):
            print(f"       {command}")


def summary(record: Claims) -> str:
    """How many rows say what."""
    told = ", ".join(f"{count} {verdict}" for verdict, count in record.counts.items())
    return f"{len(record.rows)} claims at {record.size} size: {told}."


def _papers(record: Claims) -> list[str]:
    return list(dict.fromkeys(row.paper for row in record.rows))


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    return row.id, row.claim, row.theirs, f"{row.ours} [{row.about}]" if row.about else row.ours, row.verdict


def _plain(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|").replace("<", "&lt;")


def _lead(record: Claims) -> Markup:
    return tag("p", summary(record), class_="headline")


def _paper(record: Claims, paper: str) -> Markup:
    rows = [row for row in record.rows if row.paper == paper]
    head = tag("tr", *(tag("th", name, scope="col") for name in _COLUMNS))
    table = tag("table", tag("thead", head), tag("tbody", *map(_line, rows)), class_="claims")
    box = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Claims of {paper}")
    commands = list(dict.fromkeys(command for row in rows for command in row.commands))
    shown = (
        tag("details", tag("summary", "Commands"), tag("pre", "\n".join(commands), tabindex=0)) if commands else None
    )
    return tag("section", tag("h2", paper), box, shown, class_="card")


def _line(row: Row) -> Markup:
    here = join(row.ours, tag("span", row.about, class_="small") if row.about else None)
    verdict = tag("span", row.verdict, class_=f"verdict is-{row.verdict.split()[0]}")
    return tag(
        "tr",
        tag("th", row.id, scope="row"),
        tag("td", row.claim, class_="wide"),
        tag("td", row.theirs),
        tag("td", here, class_="wide"),
        tag("td", verdict),
    )


def _legend() -> Markup:
    rows = [tag("div", tag("dt", verdict), tag("dd", about)) for verdict, about in VERDICTS.items()]
    return tag("section", tag("h2", "How to read this"), tag("dl", *rows, class_="notes"), class_="card")
