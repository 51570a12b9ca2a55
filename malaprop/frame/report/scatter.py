"""Scatter plots as inline SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from malaprop.frame.report.figures import compact, figure
from malaprop.frame.report.markup import Markup, join, tag
from malaprop.frame.report.run_entries import COLORS

WIDTH, HEIGHT = 560, 360
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
        return LEFT + across * (WIDTH - LEFT - RIGHT), TOP + (1 - up) * (HEIGHT - TOP - BOTTOM)


def scatter(name: str, groups: Sequence[Dots], frame: ScatterFrame, lines: Sequence[float] = ()) -> Markup:
    """Return the scatter plot, with a horizontal line at each height in `lines`."""
    about = "; ".join(f"{group.name}: {len(group.points)} points" for group in groups)
    marks = [mark for group in groups for mark in _marks(group, frame)]
    across = [
        tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="whisker")
        for y in (frame.place(frame.left, line)[1] for line in lines)
    ]
    return figure("scatter", name, about, (WIDTH, HEIGHT), _axes(frame), *across, *marks)


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
    bottom = HEIGHT - BOTTOM
    for k in range(5):
        x = frame.left + k * (frame.right - frame.left) / 4
        y = frame.low + k * (frame.high - frame.low) / 4
        across, up = f"{frame.place(x, frame.low)[0]:.1f}", f"{frame.place(frame.left, y)[1]:.1f}"
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=up, y2=up, class_="base" if not k else "grid"))
        parts.append(tag("text", frame.show_y(y), x=LEFT - 6, y=up, dy="0.34em", text_anchor="end"))
        parts.append(tag("text", frame.show_x(x), x=across, y=bottom + 19, text_anchor="middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(tag("text", frame.across, x=middle, y=HEIGHT - 6, text_anchor="middle", class_="axis"))
    parts.append(tag("text", frame.up, x=LEFT + 4, y=TOP + 10, class_="axis"))
    return join(*parts)
