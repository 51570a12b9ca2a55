"""Heat maps of word importance: coloured text in the terminal, a stand-alone HTML page and an SVG figure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from malaprop.core.files import write_whole
from malaprop.frame.report.markup import Markup, join, stand_alone, tag
from malaprop.frame.report.tables import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PER_BAND = 24  # words side by side in the figure
_CELL, _ROW, _TOP, _LEFT = 38, 26, 96, 150
_INK = 0.7  # opacity of the strongest colour: numbers stay readable on it, in light and in dark
_FAINT = 0.04  # share of the largest value below which the terminal shows no colour
_FOR, _AGAINST, _PAPER = (42, 116, 196), (214, 96, 40), (246, 244, 239)
_COLORS = """--for: #2a74c4; --against: #d66028; --ink: #211f1c; --soft: #5d5850; --paper: #f6f4ef; --line: #e2ddd2;"""
_DARK = """--for: #5b9fe6; --against: #ec7d44; --ink: #ebe6dd; --soft: #a8a195; --paper: #151412; --line: #36322d;"""
_SVG_STYLE = f"""
svg.heat {{ {_COLORS} font: 12px ui-sans-serif, "Segoe UI", "Liberation Sans", Arial, sans-serif; }}
@media (prefers-color-scheme: dark) {{ svg.heat {{ {_DARK} }} }}
svg.heat .back {{ fill: var(--paper); }} svg.heat text {{ fill: var(--ink); }} svg.heat .soft {{ fill: var(--soft); }}
svg.heat .for {{ fill: var(--for); }} svg.heat .against {{ fill: var(--against); }}
svg.heat .frame {{ fill: none; stroke: var(--line); }}
"""
_PAGE_STYLE = f"""
:root {{ color-scheme: light dark; {_COLORS} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
body {{ margin: 0 auto; max-width: 1120px; padding: 24px; background: var(--paper); color: var(--ink);
  font: 15px/1.6 ui-sans-serif, "Segoe UI", "Liberation Sans", Arial, sans-serif; }}
h1 {{ font-size: 26px; }} h2 {{ font-size: 18px; margin: 28px 0 4px; overflow-wrap: anywhere; }}
p {{ margin: 6px 0; }} .soft, th {{ color: var(--soft); }}
.text {{ font-size: 18px; line-height: 2; white-space: pre-wrap; overflow-wrap: anywhere; }}
.text b {{ font-weight: inherit; border-radius: 4px; padding: 3px 0; }}
b.for {{ background: color-mix(in srgb, var(--for) var(--share), transparent); }}
b.against {{ background: color-mix(in srgb, var(--against) var(--share), transparent); }}
.scroll {{ overflow-x: auto; }} svg {{ display: block; max-width: none; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; }}
td.number {{ text-align: right; }}
"""
_ABOUT = (
    "A word's value is the fall of the label's log-likelihood when the victim's unknown word replaces it; a "
    "substitute's value is the fall when the substitute replaces the word. Positive values mean that the word speaks "
    "for the label. Colours are scaled to each victim's largest value. The number of words over which importance is "
    "spread is the exponential of the entropy of the words' shares; it is 1 where a single word decides."
)


class SubstituteHeat(TypedDict):
    """A substitute and its importance."""

    word: str
    importance: float


class WordHeat(TypedDict):
    """A word, its importance and its substitutes."""

    word: str
    after: str  # the characters up to the next word
    importance: float
    substitutes: Sequence[SubstituteHeat]  # strongest first


class FieldHeat(TypedDict):
    """One field of an example with its words; `before` is what stands before the first."""

    name: str
    before: str
    words: Sequence[WordHeat]


class Heat(TypedDict):
    """The word importance of one text for one victim, as the plain values of `Importance.to_dict()`."""

    victim: str
    label: int
    scores: Sequence[float]
    log_likelihood: float
    unknown: str
    asked: int
    fields: Sequence[FieldHeat]
    label_name: NotRequired[str]  # empty where the victim has no names


class _Row(NamedTuple):
    """A row of the figure: a victim, its values, and the largest of them."""

    name: str
    values: Sequence[float]
    most: float


def name_label(heat: Heat) -> str:
    """Return the name of the explained label, or "label" and its number."""
    return heat.get("label_name") or f"label {heat['label']}"


def words_of(heat: Heat) -> list[WordHeat]:
    return [word for field in heat["fields"] for word in field["words"]]


def largest(heat: Heat) -> float:
    """Return the largest absolute value of any word or substitute, to which colours are scaled."""
    values = [abs(w["importance"]) for w in words_of(heat)]
    values += [abs(s["importance"]) for w in words_of(heat) for s in w["substitutes"]]
    return max(values, default=0.0) or 1.0


def reach(heat: Heat) -> float:
    """Return over how many words the importance is spread: the exponential of the entropy of the absolute shares.

    It is the number of words where all matter alike, and 1 where a single word decides.
    """
    values = [abs(w["importance"]) for w in words_of(heat)]
    total = sum(values)
    return math.exp(-sum(v / total * math.log(v / total) for v in values if v > 0)) if total > 0 else 0.0


def list_strongest(heat: Heat, many: int) -> list[int]:
    """Return the places of the `many` words with the largest absolute importance, in the order of the text."""
    values = [abs(w["importance"]) for w in words_of(heat)]
    return sorted(sorted(range(len(values)), key=lambda at: (-values[at], at))[:many])


def _strongest(word: WordHeat) -> str:
    if not word["substitutes"]:
        return ""
    top = word["substitutes"][0]
    return f"{top['word']} ({top['importance']:+.2f})"


def color_text(heat: Heat) -> Text:
    """Return the text with a background colour for each word, for the terminal."""
    from rich.style import Style
    from rich.text import Text as Line

    most = max((abs(w["importance"]) for w in words_of(heat)), default=0.0) or 1.0
    line = Line()
    for number, field in enumerate(heat["fields"]):
        line.append("\n" if number else "")
        line.append(printable(field["before"]))
        for word in field["words"]:
            share = abs(word["importance"]) / most
            hue = _FOR if word["importance"] > 0 else _AGAINST
            red, green, blue = (round(p + (h - p) * share * 0.85) for p, h in zip(_PAPER, hue, strict=True))
            style = Style(color="black", bgcolor=f"rgb({red},{green},{blue})") if share > _FAINT else Style()
            line.append(printable(word["word"]), style)
            line.append(printable(word["after"]))
    return line


def strongest_rows(heat: Heat, count: int = 8) -> list[tuple[str, str, str]]:
    """Return the most important words with their value and their strongest substitute."""
    order = sorted(words_of(heat), key=lambda w: -abs(w["importance"]))
    return [(printable(w["word"]), f"{w['importance']:+.3f}", printable(_strongest(w))) for w in order[:count]]


def print_heat(heat: Heat, console: Console | None = None) -> None:
    """Print the coloured text and a table of the most important words, to `console` or to standard output."""
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text as Line

    out = console or RichConsole()
    chance = heat["scores"][heat["label"]]
    many = f"spread over {reach(heat):.1f} of {len(words_of(heat))} words"
    out.print(
        Line(f"{printable(heat['victim'])}: {printable(name_label(heat))} ({chance:.3f}), {many}"), soft_wrap=True
    )
    out.print(color_text(heat), soft_wrap=True)
    table = Table("word", "importance", "strongest substitute", box=None, padding=(0, 3, 0, 0))
    for row in strongest_rows(heat):
        table.add_row(*map(Line, row))
    out.print(table)


def _mark(value: float, most: float) -> tuple[str, float]:
    return "for" if value > 0 else "against", abs(value) / most


def _band(rows: Sequence[_Row], columns: Sequence[str], first: int, top: int) -> Iterator[Markup]:
    for place, column in enumerate(columns):
        x, y = _LEFT + place * _CELL + _CELL / 2, top + _TOP - 8
        shown = column if len(column) <= 16 else f"{column[:15]}…"
        yield tag("text", tag("title", column), shown, transform=f"translate({x:g} {y}) rotate(-55)")
    for number, row in enumerate(rows):
        y = top + _TOP + number * _ROW
        name = row.name if len(row.name) <= 22 else f"…{row.name[-21:]}"
        yield tag("text", tag("title", row.name), name, x=_LEFT - 8, y=y + 17, text_anchor="end", class_="soft")
        for place, value in enumerate(row.values[first : first + len(columns)]):
            kind, share = _mark(value, row.most)
            about = tag("title", f"{row.name}, {columns[place]}: {value:+.3f}")
            box = {"x": _LEFT + place * _CELL, "y": y, "width": _CELL, "height": _ROW}
            yield tag("rect", about, **box, class_=kind, fill_opacity=f"{_INK * share:.3f}")
            yield tag("rect", **box, class_="frame")
            yield tag(
                "text", f"{value:.1f}", x=box["x"] + _CELL / 2, y=y + 17, text_anchor="middle", pointer_events="none"
            )


def _legend(top: int, less: str, more: str) -> Markup:
    steps = (-1.0, -0.6, -0.3, 0.0, 0.3, 0.6, 1.0)
    parts = [tag("text", less, x=_LEFT - 8, y=top + 14, text_anchor="end", class_="soft")]
    for place, step in enumerate(steps):
        kind, share = _mark(step, 1.0)
        box = {"x": _LEFT + place * 24, "y": top, "width": 24, "height": 18}
        parts += [
            tag("rect", **box, class_=kind, fill_opacity=f"{_INK * share:.3f}"),
            tag("rect", **box, class_="frame"),
        ]
    parts.append(tag("text", more, x=_LEFT + len(steps) * 24 + 8, y=top + 14, class_="soft"))
    return join(*parts)


def figure(name: str, rows: Sequence[_Row], columns: Sequence[str], ends: tuple[str, str]) -> Markup:
    """Draw victims by words as an SVG file, in bands of 24 words, with a legend between the two `ends`."""
    many = max(1, min(PER_BAND, len(columns)))
    high = _TOP + len(rows) * _ROW + 14
    bands = range(0, max(1, len(columns)), PER_BAND)
    width, height = _LEFT + max(many * _CELL, 300) + 60, len(bands) * high + 34
    return tag(
        "svg",
        tag("title", name),
        tag("style", Markup(_SVG_STYLE)),
        tag("rect", width=width, height=height, class_="back"),
        *(m for n, at in enumerate(bands) for m in _band(rows, columns[at : at + PER_BAND], at, n * high)),
        _legend(len(bands) * high + 6, *ends),
        xmlns="http://www.w3.org/2000/svg",
        class_="heat",
        role="img",
        aria_label=name,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )


def word_figure(heats: Sequence[Heat]) -> Markup:
    """Draw the importance of the text's own words."""
    rows = [_Row(h["victim"], [w["importance"] for w in words_of(h)], largest(h)) for h in heats]
    columns = [w["word"] for w in words_of(heats[0])]
    return figure("Importance of the words", rows, columns, ("against the label", "for the label"))


def substitute_figure(heats: Sequence[Heat]) -> Markup | None:
    """Draw the substitutes that matter most to any of the victims; None without substitutes."""
    values: dict[tuple[int, str], list[float]] = {}
    for heat in heats:
        for slot, word in enumerate(words_of(heat)):
            for other in word["substitutes"]:
                values.setdefault((slot, other["word"]), []).append(other["importance"])
    if not values:
        return None
    scale = [largest(heat) for heat in heats]
    strength = {k: max(abs(v) / s for v, s in zip(row, scale, strict=True)) for k, row in values.items()}
    chosen = sorted(sorted(values, key=lambda k: (-strength[k], k))[:PER_BAND])
    rows = [_Row(h["victim"], [values[k][n] for k in chosen], scale[n]) for n, h in enumerate(heats)]
    own = [word["word"] for word in words_of(heats[0])]
    columns = [f"{w} ({own[slot]})" for slot, w in chosen]
    return figure("Strongest substitutes", rows, columns, ("raises the label", "lowers the label"))


def _text(heat: Heat) -> Markup:
    most = max((abs(w["importance"]) for w in words_of(heat)), default=0.0) or 1.0
    lines = []
    for field in heat["fields"]:
        parts: list[Markup | str] = [field["before"]]
        for word in field["words"]:
            kind, share = _mark(word["importance"], most)
            style = f"--share: {70 * share:.0f}%"
            parts += [
                tag("b", word["word"], class_=kind, style=style, title=f"{word['importance']:+.3f}"),
                word["after"],
            ]
        lines.append(tag("p", *parts, class_="text", dir="auto"))
    return join(*lines)


def _table(heat: Heat) -> Markup:
    rows = []
    for word in words_of(heat):
        others = ", ".join(f"{s['word']} {s['importance']:+.2f}" for s in word["substitutes"][:12])
        left = len(word["substitutes"]) - 12
        more = f" and {left} more" if left > 0 else ""
        value = tag("td", f"{word['importance']:+.3f}", class_="number")
        rows.append(tag("tr", tag("td", word["word"]), value, tag("td", others + more)))
    head = tag("tr", tag("th", "word"), tag("th", "importance"), tag("th", "substitutes, strongest first"))
    return tag("div", tag("table", head, *rows), class_="scroll")


def _section(heat: Heat) -> Markup:
    shown = ", ".join(f"{score:.3f}" for score in heat["scores"])
    fact = (
        f"{name_label(heat)}, scores {shown}, log-likelihood {heat['log_likelihood']:.3f}, {heat['asked']} queries; "
        f"importance is spread over {reach(heat):.1f} of {len(words_of(heat))} words"
    )
    return join(tag("h2", heat["victim"]), tag("p", fact, class_="soft"), _text(heat), _table(heat))


def render(heats: Sequence[Heat]) -> str:
    """Return the HTML page of one text's heat maps."""
    own, others = word_figure(heats), substitute_figure(heats)
    body = [
        tag("h1", "Word importance"),
        tag("p", _ABOUT, class_="soft"),
        tag("div", own, class_="scroll"),
        *(() if others is None else (tag("h2", "Strongest substitutes"), tag("div", others, class_="scroll"))),
        *map(_section, heats),
    ]
    return stand_alone("Word importance", _PAGE_STYLE, *body)


def write_heat(heats: Sequence[Heat], folder: Path) -> Path:
    """Write heat.html, heat.svg and importance.json to the folder, and return the page's path."""
    files = {
        "importance.json": json.dumps(list(heats), ensure_ascii=False, indent=1) + "\n",
        "heat.svg": f"{word_figure(heats)}\n",
        "heat.html": render(heats),
    }
    for name, content in files.items():
        write_whole(folder / name, content)
    return folder / "heat.html"
