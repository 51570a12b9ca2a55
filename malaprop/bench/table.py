"""The comparison as a Markdown table, and as a picture of bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from malaprop.bench.cell import Cell
from malaprop.bench.measured import Measured

TIMES = (
    "recipe",
    "victim",
    "texts",
    "ours s",
    "of it look-up s",
    "TextAttack s",
    "times faster",
    "goal",
    "floor s",
    "share of floor",
)
RESULTS = (
    "recipe",
    "victim",
    "success ours",
    "success TextAttack",
    "changed",
    "asked",
    "unique",
    "forwarded",
    "equal status / text / queries",
)


def markdown(cells: Sequence[Cell], about: Mapping[str, Any]) -> str:
    """The whole page: what was run on, one line a cell for time and one for results, and how to read them."""
    lines = ["# Speed", "", " · ".join(f"{name}: {value}" for name, value in about.items()), ""]
    lines += _table(TIMES, [_times(cell) for cell in cells])
    lines += ["", "Results, ours / TextAttack:", "", *_table(RESULTS, [_results(cell) for cell in cells]), ""]
    lines += [f"- {cell.recipe}, {cell.victim}: {cell.reason}\n" for cell in cells if cell.reason]
    return "\n".join([*lines, _READING])


_READING = """\
Each row was run in one go: TextAttack in a Python of its own until its time was over, then ours on the texts it
finished, with the same victim, texts, candidates, threads and precision, both after one warm-up text. Loading a model,
WordNet and vectors is in neither time; finding candidates is in both.

- *Floor*: plain forward passes over TextAttack's distinct texts, sorted by length, at the best batch size, and nothing
  else. *Share of floor*: our whole time over it; below one where an edit does not cost a whole pass.
- *Asked* counts an attack's questions, *unique* the distinct texts among them, *forwarded* those the model really read.
- `textfooler` here has no sentence encoder on either side. TextAttack tags every changed text with NLTK's tagger, ours
  reads a replacement's parts of speech off WordNet, so the two admit other words; `textfooler-untagged` leaves parts of
  speech out on both sides, and its candidates are the same.
- `genetic` has no language model, and the two tools draw other random numbers: compare rates there, not texts.
- Equal runs on a shared machine differ by 1.4 times: read one digit.
"""


def _times(cell: Cell) -> list[str]:
    ours, peer = cell.ours, cell.peer
    return [
        cell.recipe,
        cell.victim,
        str(len(cell.rows)),
        _number(None if ours is None else ours.wall_s),
        _number(None if ours is None else ours.lookup_s),
        _number(None if peer is None else peer.wall_s),
        _number(cell.faster) + _spread(cell.ratios),
        _number(cell.goal),
        _number(None if cell.floor is None else cell.floor.seconds),
        _number(cell.of_floor),
    ]


def _results(cell: Cell) -> list[str]:
    sides, equal = (cell.ours, cell.peer), cell.agreement
    return [
        cell.recipe,
        cell.victim,
        *("-" if side is None else str(side.success) for side in sides),
        " / ".join(_percent(None if side is None else side.changed(cell.rows)) for side in sides),
        *(" / ".join(_count(side, name) for side in sides) for name in ("asked", "distinct", "forwarded")),
        "-" if equal is None else f"{equal.statuses} / {equal.texts} / {equal.queries} of {equal.rows}",
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_line(head), _line(["---"] * len(head)), *map(_line, rows)]


def _line(parts: Sequence[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _spread(ratios: Sequence[float]) -> str:
    return f" ({min(ratios):.3g}-{max(ratios):.3g})" if len(ratios) > 1 else ""


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _count(side: Measured | None, name: str) -> str:
    return "-" if side is None else f"{getattr(side, name):,}"


def svg(cells: Sequence[Cell]) -> str:
    """Bars of how many times faster, on a logarithmic scale, each with its goal as a tick."""
    shown = [(cell, cell.faster) for cell in cells if cell.faster]
    width, left, line = 780, 270, 30
    top = max([10.0, *(1.2 * max(ratio, cell.goal or 1) for cell, ratio in shown)])
    height = 60 + line * len(shown)
    parts = [_text(12, 24, "Times faster than TextAttack on the same victim and texts; the mark is the goal", "title")]
    for mark in (m for m in (1, 2, 5, 10, 20, 50, 100, 200) if m <= top):
        x = left + _along(mark, top, width - left - 60)
        parts.append(f'<line x1="{x:.1f}" y1="36" x2="{x:.1f}" y2="{height - 22}" class="grid"/>')
        parts.append(_text(x, height - 8, f"{mark}x", "mark"))
    for place, (cell, ratio) in enumerate(shown):
        y = 42 + line * place
        length = _along(ratio, top, width - left - 60)
        parts.append(_text(left - 8, y + 14, f"{cell.recipe}, {cell.victim}", "name"))
        parts.append(f'<rect x="{left}" y="{y}" width="{max(1.0, length):.1f}" height="20" class="bar"/>')
        parts.append(_text(left + length + 6, y + 14, f"{ratio:.2g}x", "value"))
        if cell.goal is not None:
            x = left + _along(cell.goal, top, width - left - 60)
            parts.append(f'<line x1="{x:.1f}" y1="{y - 3}" x2="{x:.1f}" y2="{y + 23}" class="goal"/>')
    inner = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>Times faster than TextAttack</title>\n<style>{_STYLE}</style>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{inner}\n</svg>\n'
    )


_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.title{font-weight:600}.name{text-anchor:end}"
    ".mark{text-anchor:middle;fill:#666}"
    ".bar{fill:#3b6ea8}.grid{stroke:#ddd}.goal{stroke:#c2410c;stroke-width:2}"
)


def _along(value: float, top: float, length: float) -> float:
    """Where a ratio lies between 1 and the top of the scale."""
    from math import log

    return length * max(0.0, log(value) / log(top))


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>'
