"""Figures of attention and hidden states as plain SVG: tables of shaded cells, and log-log line charts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from malaprop.frame.report.figures import clip
from malaprop.frame.report.markup import Markup, join, tag

_TOP, _LEFT, _EDGE = 78, 128, 16
_INK = 0.85  # opacity of the darkest shade
_STYLE = """
svg.map { font: 12px ui-sans-serif, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
svg.map text { fill: var(--soft, #5d5850); }
svg.map .cell { fill: var(--accent, #1f5fa8); stroke: var(--line, #e2ddd2); }
svg.map .mark { fill: none; stroke: var(--old, #a8321a); stroke-width: 2; }
svg.map .changed { fill: var(--old, #a8321a); }
svg.map .base { stroke: var(--quiet, #a39c8f); } svg.map .line { fill: none; stroke-width: 2; }
svg.map .c0 { stroke: var(--c0, #1f5fa8); } svg.map .c1 { stroke: var(--c1, #d1591b); }
svg.map .c2 { stroke: var(--c2, #14866b); } svg.map .c3 { stroke: var(--c3, #99408b); }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadeTable:
    """A table of values from 0 up, each shaded relative to its row's maximum, or with `whole` to the table's."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    marked: Collection[int] = ()  # columns of changed words
    whole: bool = False
    cell: int = 30  # pixels across
    row: int = 22  # pixels down

    @property
    def size(self) -> tuple[int, int]:
        return _LEFT + len(self.columns) * self.cell + 64, _EDGE + _TOP + len(self.rows) * self.row + 12


def _svg(name: str, about: str, width: float, height: float, *children: Markup) -> Markup:
    return tag(
        "svg",
        tag("title", name),
        tag("desc", about),
        tag("style", Markup(_STYLE)),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        class_="map",
        role="img",
        aria_label=f"{name}. {about}",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
    )


def tables(name: str, about: str, shown: Sequence[Sequence[ShadeTable]]) -> Markup:
    """Return one figure of tables: each inner sequence is a row of tables side by side."""
    parts, top, width = [], 0, 0
    for line in shown:
        left = 0
        for table in line:
            parts.append(tag("g", *_draw(table), transform=f"translate({left} {top})"))
            left += table.size[0]
        top += max((table.size[1] for table in line), default=0)
        width = max(width, left)
    return _svg(name, about, width, top, *parts)


def _draw(table: ShadeTable) -> Iterator[Markup]:
    yield tag("text", table.title, x=0, y=12)
    head = _EDGE + _TOP
    for place, column in enumerate(table.columns):
        at = f"translate({_LEFT + place * table.cell + table.cell / 2:g} {head - 8}) rotate(-50)"
        kind = "changed" if place in table.marked else None
        yield tag("text", tag("title", column), clip(column, 18), transform=at, class_=kind)
    most = max((value for row in table.values for value in row), default=0.0)
    for number, (row, values) in enumerate(zip(table.rows, table.values, strict=True)):
        y = head + number * table.row
        yield tag("text", tag("title", row), clip(row, 18), x=_LEFT - 8, y=y + table.row - 7, text_anchor="end")
        top = (most if table.whole else max(values, default=0.0)) or 1.0
        for place, value in enumerate(values):
            box = {"x": _LEFT + place * table.cell, "y": y, "width": table.cell, "height": table.row}
            about = tag("title", f"{row}, {table.columns[place]}: {value:.3f}")
            yield tag("rect", about, **box, class_="cell", fill_opacity=f"{_INK * max(0.0, value) / top:.3f}")
    for place in sorted(table.marked):
        if table.rows and place < len(table.columns):
            box = {
                "x": _LEFT + place * table.cell,
                "y": head,
                "width": table.cell,
                "height": len(table.rows) * table.row,
            }
            yield tag("rect", **box, class_="mark")


_WIDE, _HIGH, _AT, _DOWN = 520, 300, 64, 44


def loglog(name: str, across: str, lines: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> Markup:
    """Return a line chart with logarithmic axes, each line named at its end; values not above 0 are left out."""
    kept = [(called, [(x, y) for x, y in points if x > 0 and y > 0]) for called, points in lines]
    every = [point for _, points in kept for point in points]
    if not every:
        return Markup("")
    xs, ys = ([math.log(p[axis]) for p in every] for axis in (0, 1))
    low, high = min(ys), max(ys)

    def place(x: float, y: float) -> tuple[float, float]:
        right = (math.log(x) - min(xs)) / ((max(xs) - min(xs)) or 1.0)
        up = (math.log(y) - low) / ((high - low) or 1.0)
        return _AT + right * (_WIDE - _AT - 150), 14 + (1 - up) * (_HIGH - 14 - _DOWN)

    parts = [_axis(x, place, _HIGH - _DOWN) for x in sorted({x for x, _ in every})]
    for value in (math.exp(low), math.exp((low + high) / 2), math.exp(high)):
        y = place(math.exp(min(xs)), value)[1]
        parts.append(tag("text", f"{value:.2g}", x=_AT - 8, y=f"{y + 4:.1f}", text_anchor="end"))
    for number, (called, points) in enumerate(kept):
        if points:
            parts.append(_line(called, number, [place(*point) for point in points]))
    parts.append(tag("text", across, x=(_WIDE - 86) / 2, y=_HIGH - 6, text_anchor="middle"))
    about = "; ".join(f"{called}: {', '.join(f'{y:.3g} at {x:g}' for x, y in points)}" for called, points in kept)
    return _svg(name, about, _WIDE, _HIGH, *parts)


def _axis(x: float, place: object, bottom: float) -> Markup:
    at = place(x, 1.0)[0]  # type: ignore[operator]
    return join(
        tag("line", x1=f"{at:.1f}", x2=f"{at:.1f}", y1=bottom, y2=bottom + 5, class_="base"),
        tag("text", f"{x:g}", x=f"{at:.1f}", y=bottom + 18, text_anchor="middle"),
    )


def _line(name: str, number: int, points: Sequence[tuple[float, float]]) -> Markup:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashes = ("", "7 4", "2 3", "9 3 2 3")[number % 4]
    x, y = points[-1]
    return join(
        tag("path", tag("title", name), d=f"M{path}", class_=f"line c{number % 4}", stroke_dasharray=dashes or None),
        tag("text", name, x=f"{x + 8:.1f}", y=f"{y + 4:.1f}"),
    )
