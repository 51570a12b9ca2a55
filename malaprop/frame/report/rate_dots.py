"""A chart of rates as dots with their intervals from 0 to 100%: a line for each name, with several dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from malaprop.frame.records.summary import Rate
from malaprop.frame.report.figures import WIDTH, clip, figure, shares, stroke
from malaprop.frame.report.markup import Markup, tag

_SIDE, _ROW, _STEP, _TOP = 150, 18, 9, 8
SHAPES = ("circle", "square", "diamond", "triangle", "cross", "flag", "bar")  # distinct without colours too


class RateDot(NamedTuple):
    kind: str
    color: int
    rate: Rate


def dots(name: str, lines: Sequence[tuple[str, Sequence[RateDot]]]) -> Markup:
    """Return the chart. The dots of one line are placed one under the other, so that intervals stay apart."""
    heights = [_ROW + _STEP * len(found) for _, found in lines]
    bottom = _TOP + sum(heights)
    parts = shares(_SIDE, WIDTH - _SIDE - 16, _TOP, bottom)
    top = float(_TOP)
    for (called, found), height in zip(lines, heights, strict=True):
        label = tag("text", tag("title", called), clip(called, 20), x=_SIDE - 10, y=f"{top + height / 2:.1f}",
                    dy="0.34em", text_anchor="end", class_="name")  # fmt: skip
        parts += [
            label,
            *(_dot(dot, top + _ROW / 2 + _STEP * (i + 0.5)) for i, dot in enumerate(found) if dot.rate.total),
        ]
        top += height
    about = "; ".join(f"{called}: {', '.join(f'{d.kind} {d.rate}' for d in found)}" for called, found in lines)
    return figure("dots", name, about, (WIDTH, bottom + 22), *parts)


def key(kinds: Sequence[str]) -> Markup:
    """Return a legend of the shapes."""
    items = []
    for number, kind in enumerate(kinds):
        mark = tag("svg", shape(number, 8, 6, 4), viewBox="0 0 16 12", width=16, height=12, aria_hidden="true")
        items.append(tag("li", mark, kind))
    return tag("ul", *items, class_="legend")


def shape(number: int, x: float, y: float, size: float) -> Markup:
    """Return the shape with this number, in its colour."""
    paint = f"fill:{stroke(number)[0]};stroke:none"
    kind = SHAPES[number % len(SHAPES)]
    if kind == "circle":
        return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=size, style=paint)
    if kind == "square":
        return tag("rect", x=f"{x - size:.1f}", y=f"{y - size:.1f}", width=2 * size, height=2 * size, style=paint)
    around = {
        "diamond": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
        "triangle": [(0, -1.2), (1.2, 1), (-1.2, 1)],
        "flag": [(-1.2, -1.2), (1.2, 0), (-1.2, 1.2)],
        "bar": [(-0.5, -1.3), (0.5, -1.3), (0.5, 1.3), (-0.5, 1.3)],
        "cross": [(-1.2, -0.4), (-0.4, -0.4), (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4),
                  (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4)],
    }[kind]  # fmt: skip
    return tag("polygon", points=" ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in around), style=paint)


def _place(share: float) -> float:
    return _SIDE + share * (WIDTH - _SIDE - 16)


def _dot(dot: RateDot, y: float) -> Markup:
    low, high = (_place(edge) for edge in dot.rate.interval)
    line = tag("line", x1=f"{low:.1f}", x2=f"{high:.1f}", y1=f"{y:.1f}", y2=f"{y:.1f}")
    title = tag("title", f"{dot.kind}: {dot.rate}")
    return tag("g", title, tag("g", line, class_="whisker"), shape(dot.color, _place(dot.rate.value), y, 3.5))
