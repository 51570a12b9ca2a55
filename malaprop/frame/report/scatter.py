"""Scatter plots, and charts of rates as dots with their intervals, as inline SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from malaprop.frame.records.summary import Rate
from malaprop.frame.report.figures import WIDTH, clip, compact, figure, shares, stroke
from malaprop.frame.report.markup import Markup, join, tag
from malaprop.frame.report.run_entries import COLORS

_WIDE, _HIGH = 560, 360
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 44


@dataclass(frozen=True, slots=True)
class Dots:
    """A group of points of one colour; `names` are shown when the pointer is over a point."""

    name: str
    color: int
    points: Sequence[tuple[float, float]]
    names: Sequence[str] = ()
    radius: float = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterFrame:
    """The labels of the axes, and the ranges of values that they span."""

    across: str
    up: str
    left: float
    right: float
    low: float
    high: float
    show_x: Callable[[float], str] = compact
    show_y: Callable[[float], str] = compact

    @classmethod
    def around(cls, groups: Sequence[Dots], across: str, up: str, **shown: Callable[[float], str]) -> ScatterFrame:
        """Return a frame just large enough for every point."""
        xs = [x for group in groups for x, _ in group.points] or [0.0, 1.0]
        ys = [y for group in groups for _, y in group.points] or [0.0, 1.0]
        wide, tall = (max(v) - min(v) or 1.0 for v in (xs, ys))
        return cls(
            across=across,
            up=up,
            left=min(xs) - 0.04 * wide,
            right=max(xs) + 0.04 * wide,
            low=min(ys) - 0.06 * tall,
            high=max(ys) + 0.06 * tall,
            **shown,
        )

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.left) / (self.right - self.left)
        up = (y - self.low) / (self.high - self.low)
        return LEFT + across * (_WIDE - LEFT - RIGHT), TOP + (1 - up) * (_HIGH - TOP - BOTTOM)


def scatter(name: str, groups: Sequence[Dots], frame: ScatterFrame, lines: Sequence[float] = ()) -> Markup:
    """Return the scatter plot, with a horizontal line at each height in `lines`."""
    about = "; ".join(f"{group.name}: {len(group.points)} points" for group in groups)
    marks = [mark for group in groups for mark in _marks(group, frame)]
    across = [
        tag("line", x1=LEFT, x2=_WIDE - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="whisker")
        for y in (frame.place(frame.left, line)[1] for line in lines)
    ]
    return figure("scatter", name, about, (_WIDE, _HIGH), _axes(frame), *across, *marks)


def _marks(group: Dots, frame: ScatterFrame) -> list[Markup]:
    color = f"var(--c{group.color % COLORS})"
    out = []
    for place, (x, y) in enumerate(group.points):
        cx, cy = frame.place(x, y)
        title = tag("title", group.names[place] if place < len(group.names) else group.name)
        size = group.radius
        # every other group is drawn as diamonds: the shape tells groups apart where colours do not
        if group.color % 2:
            d = f"M{cx:.1f} {cy - size:.1f}l{size:g} {size:g}l-{size:g} {size:g}l-{size:g} -{size:g}z"
            out.append(tag("path", title, d=d, fill=color, fill_opacity="0.75"))
        else:
            out.append(tag("circle", title, cx=f"{cx:.1f}", cy=f"{cy:.1f}", r=size, fill=color, fill_opacity="0.75"))
    return out


def _axes(frame: ScatterFrame) -> Markup:
    parts: list[Markup] = []
    bottom = _HIGH - BOTTOM
    for k in range(5):
        x = frame.left + k * (frame.right - frame.left) / 4
        y = frame.low + k * (frame.high - frame.low) / 4
        across, up = f"{frame.place(x, frame.low)[0]:.1f}", f"{frame.place(frame.left, y)[1]:.1f}"
        parts.append(tag("line", x1=LEFT, x2=_WIDE - RIGHT, y1=up, y2=up, class_="base" if not k else "grid"))
        parts.append(tag("text", frame.show_y(y), x=LEFT - 6, y=up, dy="0.34em", text_anchor="end"))
        parts.append(tag("text", frame.show_x(x), x=across, y=bottom + 19, text_anchor="middle"))
    middle = (LEFT + _WIDE - RIGHT) / 2
    parts.append(tag("text", frame.across, x=middle, y=_HIGH - 6, text_anchor="middle", class_="axis"))
    parts.append(tag("text", frame.up, x=LEFT + 4, y=TOP + 10, class_="axis"))
    return join(*parts)


# --- rates as dots with their intervals from 0 to 100%: a line for each name, with several dots


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
