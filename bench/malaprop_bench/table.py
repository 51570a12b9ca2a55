"""Show the comparison as Markdown tables and as a bar chart, both from its JSON alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log
from statistics import median_low
from typing import Any

from malaprop.frame.records.summary import Rate
from malaprop_bench.peer import TOOLS

Held = Mapping[str, Any]  # what JSON holds
TIMES = (
    "recipe",
    "victim",
    "precision",
    "texts",
    "ours s",
    "of it look-up s",
    "TextAttack s",
    "times TextAttack",
    "goal",
    "OpenAttack s",
    "times OpenAttack",
    "floor s",
    "share of floor",
)
PROCESSOR = (
    "recipe",
    "victim",
    "precision",
    "texts",
    "ours, processor s",
    "TextAttack, processor s",
    "times TextAttack",
    "goal",
    "times by the clock",
    "equal statuses",
    "bare forward passes, processor s",
    "share of them",
)
RESULTS = (
    "recipe",
    "victim",
    "precision",
    "tool",
    "texts",
    "attack success",
    "words changed",
    "asked",
    "unique",
    "forwarded",
    "asked/s",
    "equal to ours: status / text / queries",
)


def markdown(summary: Held) -> str:
    """Return the page: machine, a row of times for each cell, a row of results for each side, and how to read them."""
    lines = [
        "# Speed",
        "",
        about(summary),
        "",
        *times(summary),
        "",
        "What each side reached:",
        "",
        *results(summary),
        "",
    ]
    lines += [f"- {name(cell)}: {reason}\n" for cell in summary["cells"] for reason in cell["reasons"]]
    return "\n".join([*lines, READING])


READING = """\
Each row was run in one go: TextAttack in a Python of its own until its time was over, OpenAttack likewise on the texts
that TextAttack finished, then ours on the texts that each of them finished, with the same victim, texts, threads and
look-ups, all after one warm-up text. Loading a model, WordNet and vectors is in no time; finding candidates is in all.
All sides are in 32 bits, but for ours in rows that say bf16 or int8.

- *Times*: a peer's wall time over ours on the same texts. *Floor*: plain forward passes over TextAttack's distinct
  texts, sorted by length, at the best batch size, in the precision of ours, and nothing else. *Share of floor*: our
  whole time over it; below one where an edit does not cost a whole pass.
- *Asked* counts an attack's questions, *unique* the distinct texts among them, *forwarded* those the model really read.
- Ours walks TextAttack's variant of each recipe. OpenAttack's own differ: its `pwws` fixes every word's synonym
  beforehand, as the paper does, and takes synonyms of the tagged part of speech; its `genetic` has no bound on the
  words changed; its texts are lower-cased and cut at every mark. Compare its rates and times, not its texts.
- `textfooler` here has no sentence encoder on any side. TextAttack tags every changed text with NLTK's tagger, ours
  reads a replacement's parts of speech off WordNet, so the two admit other words.
- `genetic` has no language model, and the tools draw other random numbers: compare rates there, not texts.
- Equal runs on a shared machine differ by 1.4 times: read one digit.
"""


def about(summary: Held) -> str:
    """Return a line with machine, versions and settings."""
    flat = {**{k: v for k, v in summary.items() if k not in ("cells", "terms")}, **summary.get("terms", {})}
    tools = dict.fromkeys(side["tool"] for cell in summary["cells"] for side in cell["peers"].values())
    return " · ".join([*(f"{key}: {value}" for key, value in flat.items()), *tools])


def times(summary: Held) -> list[str]:
    return lines(TIMES, [_times(cell) for cell in summary["cells"]])


def results(summary: Held) -> list[str]:
    return lines(RESULTS, [row for cell in summary["cells"] for row in _results(cell)])


def name(cell: Held) -> str:
    low = "" if cell["precision"] == "fp32" else f" in {cell['precision']}"
    return f"{cell['recipe']}, {cell['victim']}{low}"


def _times(cell: Held) -> list[str]:
    ours, least = cell["ours"] or {}, cell["floor"] or {}
    text, other = (cell["peers"].get(tool, {}) for tool in TOOLS)
    return [
        cell["recipe"],
        cell["victim"],
        cell["precision"],
        str(cell["rows"]),
        number(ours.get("wall_s")),
        number(ours.get("lookup_s")),
        number(text.get("wall_s")),
        _ratio(text, cell["rows"]),
        number(cell["goal"]),
        number(other.get("wall_s")),
        _ratio(other, cell["rows"]),
        number(least.get("seconds")),
        number(cell["share_of_floor"]),
    ]


def processor_rows(summaries: Sequence[Held]) -> list[list[str]]:
    """Return the rows under PROCESSOR: processor times, for comparisons on a machine that has other work, too."""
    return [_processor(cell) for summary in summaries for cell in summary["cells"] if cell["ours"]]


def _processor(cell: Held) -> list[str]:
    ours, least, text = cell["ours"], cell["floor"] or {}, cell["peers"].get("TextAttack", {})
    equal, spent = text.get("equal"), text.get("processor_ratios", ())
    return [
        cell["recipe"],
        cell["victim"],
        cell["precision"],
        str(cell["rows"]),
        number(ours["processor_s"]),
        number(text.get("processor_s")),
        _spread(median_low(spent) if spent else None, spent),
        number(cell["goal"]),
        _ratio(text, cell["rows"]),
        f"{equal['statuses']} of {equal['rows']}" if equal else "-",
        number(least.get("processor_s")),
        number(cell["processor_share_of_floor"]),
    ]


def _spread(middle: float | None, ratios: Sequence[float]) -> str:
    """Format a ratio, with the range of several runs."""
    span = f" ({number(min(ratios))}-{number(max(ratios))})" if len(ratios) > 1 else ""
    return f"{number(middle)}{span}"


def _ratio(peer: Held, rows: int) -> str:
    """Format a peer's ratio, with the range of several runs, and the number of texts if the peer finished fewer."""
    if not peer:
        return "-"
    fewer = f" on {peer['rows']}" if peer["rows"] < rows else ""
    return f"{_spread(peer['faster'], peer['ratios'])}{fewer}"


def _results(cell: Held) -> list[list[str]]:
    start = [cell["recipe"], cell["victim"], cell["precision"]]
    sides = [("ours", cell["ours"], cell["rows"])] if cell["ours"] else []
    sides += [(tool, side, side["rows"]) for tool, side in cell["peers"].items()]
    return [[*start, tool, str(rows), *_side(side)] for tool, side, rows in sides]


def _side(side: Held) -> list[str]:
    equal = side.get("equal")
    share = side["changed_share"]
    return [
        str(Rate(side["success"]["hits"], side["success"]["total"])),
        "-" if share is None else f"{100 * share:.1f}%",
        *(f"{side[key]:,}" for key in ("asked", "unique", "forwarded")),
        f"{side['asked'] / side['wall_s']:,.0f}" if side["wall_s"] else "-",
        f"{equal['statuses']} / {equal['texts']} / {equal['queries']} of {equal['rows']}" if equal else "",
    ]


def lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [_line(head), _line(["---"] * len(head)), *map(_line, rows)]


def _line(parts: Sequence[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


WIDTH, LEFT, BAR = 820, 290, 15
COLORS = ("#3b6ea8", "#8a6d1f")


def svg(summary: Held) -> str:
    """Draw bars of the speed-up over each peer on a logarithmic scale, with a tick for the goal against TextAttack."""
    cells = [cell for cell in summary["cells"] if cell["peers"]]
    top = max([10.0, *(1.3 * max(_reach(cell)) for cell in cells)])
    step = BAR * len(TOOLS) + 12
    height = 78 + step * len(cells)
    parts = [_text(12, 24, "Times faster than each peer on the same victim and texts", "title"), *_legend()]
    for mark in (m for m in (1, 2, 5, 10, 20, 50, 100, 200, 500) if m <= top):
        x = LEFT + _along(mark, top)
        parts.append(f'<line x1="{x:.1f}" y1="52" x2="{x:.1f}" y2="{height - 22}" class="grid"/>')
        parts.append(_text(x, height - 8, f"{mark}x", "mark"))
    for place, cell in enumerate(cells):
        parts += _bars(cell, 58 + step * place, top)
    inner = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">\n'
        f"<title>Times faster than each peer</title>\n<desc>{escape(_words(cells))}</desc>\n<style>{_STYLE}</style>\n"
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n{inner}\n</svg>\n'
    )


def _reach(cell: Held) -> list[float]:
    return [cell["goal"] or 1.0, *(peer["faster"] for peer in cell["peers"].values())]


def _words(cells: Sequence[Held]) -> str:
    """Return the picture in words, for screen readers."""
    ratios = (f"{name(c)}: {number(p['faster'])} times {tool}" for c in cells for tool, p in c["peers"].items())
    return "; ".join(ratios) or "no peer was run"


def _legend() -> list[str]:
    out = []
    for place, (tool, color) in enumerate(zip(TOOLS, COLORS, strict=True)):
        x = LEFT + 130 * place
        out.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{color}"/>')
        out.append(_text(x + 18, 45, tool, "key"))
    x = LEFT + 130 * len(TOOLS)
    out.append(f'<line x1="{x}" y1="32" x2="{x}" y2="48" class="goal"/>')
    return [*out, _text(x + 8, 45, "goal against TextAttack", "key")]


def _bars(cell: Held, y: int, top: float) -> list[str]:
    parts = [_text(LEFT - 8, y + BAR + 4, name(cell), "name")]
    for place, (tool, color) in enumerate(zip(TOOLS, COLORS, strict=True)):
        if (peer := cell["peers"].get(tool)) is None:
            continue
        length, at = _along(peer["faster"], top), y + BAR * place
        parts.append(
            f'<rect x="{LEFT}" y="{at}" width="{max(1.0, length):.1f}" height="{BAR - 1}" class="bar" fill="{color}"/>'
        )
        parts.append(_text(LEFT + length + 6, at + 12, f"{number(peer['faster'])}x", "value"))
    if cell["goal"] is not None:
        x = LEFT + _along(cell["goal"], top)
        parts.append(f'<line x1="{x:.1f}" y1="{y - 3}" x2="{x:.1f}" y2="{y + BAR + 3}" class="goal"/>')
    return parts


_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.title{font-weight:600}.name{text-anchor:end}"
    ".mark{text-anchor:middle;fill:#666}.grid{stroke:#ddd}.goal{stroke:#c2410c;stroke-width:2}"
)


def _along(value: float, top: float) -> float:
    """Return the position of a ratio between 1 and the top of the scale, in pixels."""
    return (WIDTH - LEFT - 70) * max(0.0, log(value) / log(top)) if value > 0 else 0.0


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>'
