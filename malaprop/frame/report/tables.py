"""Cards, tables and panels that all sections share, and the same tables as text for a terminal or Markdown."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from malaprop.frame.records.summary import Rate
from malaprop.frame.report.markup import Child, Markup, join, tag

if TYPE_CHECKING:
    from rich.table import Table

DASH = "–"  # noqa: RUF001 - for None
TALL = 24  # rows beyond which a table scrolls in its own box


def card(place: str, title: str, lead: str, *body: Child, kind: str = "study") -> Markup:
    """Return a part of the page with a heading; `place` is its id for links."""
    start = (tag("h2", title, id=place), tag("p", lead, class_="lead") if lead else None)
    return tag("section", *start, *body, class_=f"card {kind}".rstrip(), aria_labelledby=place)


def grid(about: str, names: Sequence[Child], rows: Sequence[Sequence[Child]], kind: str = "plain") -> Markup:
    """Return a table whose first column names its rows, in a box that scrolls if it is larger than the page."""
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    body = [tag("tr", tag("th", row[0], scope="row"), *map(_cell, row[1:])) for row in rows]
    return scroll(tag("table", tag("thead", head), tag("tbody", *body), class_=kind), len(rows), about)


def _cell(cell: Child) -> Markup:
    return cell if isinstance(cell, Markup) and cell.startswith("<td") else tag("td", cell)


def scroll(inner: Markup, rows: int, about: str) -> Markup:
    shape = "scroll tall" if rows > TALL else "scroll"
    return tag("div", inner, class_=shape, tabindex=0, role="region", aria_label=about)


def table(
    title: str, names: Sequence[Child], rows: Sequence[Sequence[Child]], note: str = "", kind: str = "plain"
) -> Markup:
    """Return a table with a title and a note; empty if it has no rows."""
    if not rows:
        return Markup("")
    return join(tag("h3", title), tag("p", note) if note else None, grid(title, names, rows, kind))


def panel(title: str, *body: Child) -> Markup:
    """Return a figure with its title and its legend."""
    return tag("figure", tag("figcaption", title), *body, class_="panel")


def panels(*figures: Child, kind: str = "panels") -> Markup:
    """Return figures that are shown side by side if there is room."""
    return tag("div", *figures, class_=kind)


def bullets(title: str, lines: Iterable[Child]) -> Markup:
    """Return a list with a title; empty if it has no items."""
    items = [tag("li", line) for line in lines]
    return join(tag("h3", title) if title else None, tag("ul", *items)) if items else Markup("")


def number(value: float | None, form: str = ",.0f") -> str:
    """Return a number as text, or a dash for None."""
    return DASH if value is None else format(value, form)


def share(value: float | None, digits: int = 1) -> str:
    """Return a share in percent as text, or a dash for None."""
    return DASH if value is None else f"{100 * value:.{digits}f}%"


def brief(value: float | None) -> str:
    """Return a number with up to three decimals for a terminal, or "none" for None."""
    return "none" if value is None else f"{value:,.3f}".rstrip("0").rstrip(".")


def text_of(value: object) -> str:
    """Return a value as text, or a dash for None."""
    return DASH if value is None else str(value)


def printable(text: str) -> str:
    """Return the text with characters that could control the terminal replaced by spaces."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def lines_of(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], *, boxed: bool = True) -> str:
    """Return a table as text of the terminal's width, with a title, and a rule below the names if `boxed`."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(title) if title else None, box=SIMPLE_HEAD if boxed else None, title_justify="left")
    if not boxed:
        shown.padding = (0, 2, 0, 0)
    for place, name in enumerate(names):
        shown.add_column(Text(printable(name)), justify="right" if boxed and place else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    room = shutil.get_terminal_size((80, 24)).columns
    keep_words(shown, [names, *rows], room)
    out = Console(file=io.StringIO(), width=room, color_system=None)
    out.print(shown)
    assert isinstance(out.file, io.StringIO)
    return "\n".join(line.rstrip() for line in out.file.getvalue().rstrip("\n").split("\n"))


_NARROW = 5  # characters of a later column's longest word that an earlier column leaves room for


def keep_words(table: Table, rows: Sequence[Sequence[str]], room: int) -> None:
    """Set the widths of a table that is wider than the room so that no word is cut, as far as there is room.

    Names come first: an earlier column may take half of the room for its longest word, and what is left over.
    """
    from rich.cells import cell_len

    columns = list(zip(*rows, strict=True))
    whole = [max(cell_len(line) for cell in cells for line in cell.split("\n")) for cells in columns]
    words = [max(cell_len(word) for cell in cells for word in cell.split() or [""]) for cells in columns]
    room -= 3 * len(columns) + 1  # a space on both sides of each column, and a line's width between
    if sum(whole) <= room:
        return
    widths: list[int] = []
    for place, word in enumerate(words):
        spare = room - sum(widths) - sum(min(_NARROW, later) for later in words[place + 1 :])
        widths.append(max(1, min(word, spare, max(room // 2, _NARROW))))
    spare = max(0, room - sum(widths))
    for column, width, most in zip(table.columns, widths, whole, strict=True):
        more = min(spare, most - width)
        column.width, spare = width + more, spare - more


def markdown(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return [f"| {' | '.join(' '.join(c.split()).replace('|', chr(92) + '|') for c in line)} |" for line in lines]


def row_of_markdown(cells: Sequence[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(plain_markdown(cell) for cell in cells)} |"


def plain_markdown(text: str) -> str:
    """Return the text on one line, with everything escaped that Markdown or HTML would interpret."""
    flat = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    shown = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return re.sub(r"([\\`*_{}\[\]|#!~])", r"\\\1", shown).replace("&\\#64;", "&#64;")


def show_rate(rate: Rate | None) -> str:
    if rate is None or not rate.total:
        return DASH
    return f"{100 * rate.value:.1f}% ({rate.hits}/{rate.total})" if rate.shown else f"{DASH} ({rate.hits}/{rate.total})"
