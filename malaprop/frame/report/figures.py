"""Figures as inline SVG, coloured by the page's CSS variables so that they follow light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from malaprop.frame.records import Point, Rate
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.run_entries import COLORS

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 44
DASHES = ("", "7 4", "2 3", "9 3 2 3", "14 3", "5 2 1 2 1 2", "3 6")
POINTS = 160  # step curves with more points are thinned, which is not visible at this width


def figure(kind: str, name: str, about: str, size: tuple[float, float], *parts: Child, style: str = "") -> Markup:
    """Return an SVG of width and height `size`, with a name and a description for screen readers."""
    return tag(
        "svg",
        tag("title", name),
        tag("desc", about),
        *parts,
        role="img",
        class_=f"figure {kind}",
        viewBox=f"0 0 {size[0]:g} {size[1]:g}",
        style=style or None,
        aria_label=f"{name}. {about}",
    )


def shares(left: float, wide: float, top: float, bottom: float, *, edges: bool = False) -> list[Markup]:
    """Return vertical grid lines from 0 to 100% with labels; with `edges`, the outer labels are aligned inwards."""
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = f"{left + share * wide:.1f}"
        anchor = "middle" if not edges or 0 < share < 1 else "end" if share else "start"
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="base" if share == 0 else "grid"))
        parts.append(tag("text", percent(share), x=x, y=bottom + 15, text_anchor=anchor))
    return parts


def stroke(color: int) -> tuple[str, str]:
    """Return the colour and dashes of a line; dashes differ too, for readers who cannot tell the colours apart."""
    return f"var(--c{color % COLORS})", DASHES[(color + color // COLORS) % len(DASHES)]


def percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def compact(number: float) -> str:
    """Return a count in few characters: 950, 1.2k, 3M."""
    for size, mark in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{mark}"
    return f"{number:g}"


@dataclass(frozen=True, slots=True)
class StepLine:
    """A falling step curve that begins at height `start` and is drawn up to `end`."""

    name: str
    color: int
    start: float
    points: Sequence[Point]
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The horizontal axis from `low` to `high`, logarithmic if `log`."""

    label: str
    low: float
    high: float
    log: bool = False
    show: Callable[[float], str] = compact
    marks: Sequence[float] = ()  # positions of the labels, if not at round numbers

    def place(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        if self.marks:
            return list(self.marks)
        if not self.log:
            step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 1.0) if (self.high - self.low) / s <= 6)
            return [self.low + i * step for i in range(int((self.high - self.low) / step + 1e-9) + 1)]
        decades = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high) + 1e-9) + 1)
        if len(decades) > 3:
            return [10.0**d for d in decades]
        fine = (m * 10.0**d for d in range(decades.start - 1, decades.stop + 1) for m in (1, 2, 5))
        return [tick for tick in fine if self.low <= tick <= self.high]


def height_of(share: float) -> float:
    """Return the vertical place of a share in charts of accuracy."""
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)


def frame(axis: Axis) -> Markup:
    """Return the grid and the labels of a chart of accuracy."""
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = f"{height_of(share):.1f}"
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="base" if share == 0 else "grid"))
        parts.append(tag("text", percent(share), x=LEFT - 8, y=y, dy="0.34em", text_anchor="end"))
    bottom = HEIGHT - BOTTOM
    for tick in axis.ticks():
        x = f"{axis.place(tick):.1f}"
        parts.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 5, class_="base"))
        parts.append(tag("text", axis.show(tick), x=x, y=bottom + 19, text_anchor="middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(tag("text", axis.label, x=middle, y=HEIGHT - 6, text_anchor="middle", class_="axis"))
    return join(*parts)


def _thin(points: Sequence[Point]) -> list[Point]:
    if len(points) <= POINTS:
        return list(points)
    step = (len(points) - 1) / (POINTS - 1)
    return [points[round(i * step)] for i in range(POINTS)]


def _steps(line: StepLine, axis: Axis) -> Markup:
    path = [f"M{axis.place(axis.low):.1f} {height_of(line.start):.1f}"]
    path += [f"H{axis.place(p.at):.1f}V{height_of(p.accuracy.value):.1f}" for p in _thin(line.points)]
    path.append(f"H{axis.place(max(line.end, axis.low)):.1f}")
    return _line(line.color, "".join(path), line.name)


def line_chart(name: str, lines: Sequence[StepLine], axis: Axis) -> Markup:
    """Return a chart of accuracy, from 0 to 100%, against the attack's limit on the axis."""
    ends = (
        f"{line.name} ends at {percent(line.points[-1].accuracy.value if line.points else line.start)}"
        for line in lines
    )
    about = f"Accuracy against {axis.label.lower()}: " + ", ".join(ends)
    return figure("lines", name, about, (WIDTH, HEIGHT), frame(axis), *(_steps(line, axis) for line in lines))


class Mark(NamedTuple):
    """A value with its interval, at a position on the axis."""

    at: float
    value: float
    low: float
    high: float

    @classmethod
    def of(cls, at: float, rate: Rate) -> Mark:
        return cls(at, rate.value, *rate.interval)

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}% ({100 * self.low:.1f}-{100 * self.high:.1f})"


Curve = tuple[str, int, Sequence[Mark]]  # name, colour, points


def rate_chart(
    name: str, what: str, curves: Sequence[Curve], axis: Axis, levels: Sequence[tuple[int, float]] = ()
) -> Markup:
    """Return a chart of values from 0 to 100% at a few positions, joined by straight lines, with intervals.

    `levels` are horizontal lines for reference, each a colour and a height.
    """
    curves = [curve for curve in curves if curve[2]]
    ends = (
        f"{called} from {p[0]} at {axis.show(p[0].at)} to {p[-1]} at {axis.show(p[-1].at)}" for called, _, p in curves
    )
    about = f"{what} against {axis.label.lower()}: " + ", ".join(ends)
    across = (_line(color, f"M{LEFT} {height_of(at):.1f}H{WIDTH - RIGHT}") for color, at in levels)
    shift = 4 if len(curves) > 1 else 0  # so that intervals at one position are side by side
    shapes = (
        _join(called, color, points, axis, shift * (number - (len(curves) - 1) / 2))
        for number, (called, color, points) in enumerate(curves)
    )
    return figure("lines", name, about, (WIDTH, HEIGHT), frame(axis), *across, *shapes)


def _line(color: int, path: str, title: str = "") -> Markup:
    paint, dash = stroke(color)
    named = tag("title", title) if title else None
    return tag("path", named, d=path, class_="line", style=f"stroke:{paint}", stroke_dasharray=dash or None)


def _join(name: str, color: int, points: Sequence[Mark], axis: Axis, shift: float) -> Markup:
    places = [(axis.place(p.at) + shift, *(height_of(y) for y in (p.value, p.low, p.high))) for p in points]
    whiskers = [tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=f"{a:.1f}", y2=f"{b:.1f}") for x, _, a, b in places]
    paint = f"fill:{stroke(color)[0]}"
    dots = [tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, style=paint) for x, y, _, _ in places]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _, _ in places)
    return tag("g", tag("g", *whiskers, class_="whisker"), _line(color, f"M{path}", name), *dots)


def legend_mark(color: int) -> Markup:
    """Return a short piece of a line, for a legend."""
    return _line(color, "M1 6H27")


def legend(names: Sequence[tuple[str, int]]) -> Markup:
    """Return a legend of lines, as a list."""
    items = []
    for name, color in names:
        mark = legend_mark(color)
        items.append(tag("li", tag("svg", mark, viewBox="0 0 28 12", width=28, height=12, aria_hidden="true"), name))
    return tag("ul", *items, class_="legend")


@dataclass(frozen=True, slots=True)
class Bar:
    """A rate drawn as a bar with its interval as a whisker; `color` None is a neutral grey, for a reference."""

    name: str
    rate: Rate
    color: int | None


def interval_bars(name: str, bars: Sequence[Bar]) -> Markup:
    """Return a chart of rates from 0 to 100% as bars, one under the other."""
    row, right = 44, 8
    height, wide = row * len(bars) + 22, WIDTH - right
    parts = shares(0, wide, 4, height - 18, edges=True)
    for number, bar in enumerate(bars):
        parts.append(_bar(bar, number * row, 0, wide))
    about = "; ".join(f"{bar.name} {bar.rate}" for bar in bars)
    return figure("bars", name, about, (WIDTH, height), *parts)


def _bar(bar: Bar, top: float, left: float, wide: float) -> Markup:
    value = bar.rate.value if bar.rate.shown else 0.0
    low, high = (left + edge * wide for edge in bar.rate.interval)
    paint = "var(--quiet)" if bar.color is None else stroke(bar.color)[0]
    middle = top + 31
    whisker = [
        tag("line", x1=f"{low:.1f}", x2=f"{high:.1f}", y1=middle, y2=middle),
        *(tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=middle - 5, y2=middle + 5) for x in (low, high)),
    ]
    return tag(
        "g",
        tag("text", clip(bar.name, 34), x=left + 4, y=top + 17, class_="name"),
        tag("text", str(bar.rate), x=left + wide, y=top + 17, text_anchor="end", class_="value"),
        tag("rect", x=left, y=top + 24, width=f"{value * wide:.1f}", height=14, rx=2, style=f"fill:{paint}"),
        tag("g", *(whisker if bar.rate.total else ()), class_="whisker"),
    )


def clip(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def word_bars(name: str, words: Sequence[tuple[str, int, Sequence[str]]]) -> Markup:
    """Return a chart of how often each word was changed, with its most frequent replacements."""
    row, label, wide, right = 27, 128, 150, 292
    most = max((count for _, count, _ in words), default=1)
    parts = []
    for number, (word, count, became) in enumerate(words):
        y = number * row + row / 2
        length = max(2.0, count / most * wide)
        parts += [
            tag(
                "text",
                tag("title", word),
                clip(word, 17),
                x=label - 8,
                y=y,
                dy="0.34em",
                text_anchor="end",
                class_="name",
            ),
            tag("rect", x=label, y=y - 7, width=f"{length:.1f}", height=14, rx=2),
            tag("text", count, x=f"{label + length + 6:.1f}", y=y, dy="0.34em"),
            tag("text", clip(", ".join(became), 38), x=right + 28, y=y, dy="0.34em", class_="became"),
        ]
    about = ", ".join(f"{word} {count} times" for word, count, _ in words)
    return figure("words", name, about, (WIDTH, row * len(words) + 4), *parts)
