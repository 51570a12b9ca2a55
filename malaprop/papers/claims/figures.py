"""Draw one figure for each paper from the kept records: our figures as bars with intervals, the paper's as marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from malaprop.features.defending.evaluation_record import DefencesRecord
from malaprop.frame.records.intervals import Estimate, Interval
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.markup import Markup, tag
from malaprop.papers.attentive.oneword_record import OneWordRecord
from malaprop.papers.claims.by_paper.natural import name_victim
from malaprop.papers.hotflip.record import HotFlipRecord
from malaprop.papers.natural.record import NaturalRecord
from malaprop.papers.universal.record import TransferRecord

_LEFT, _WIDE, _ROW, _TOP = 110, 360, 24, 46
_RIGHT = 200  # for the numbers
_STYLE = "text { font: 13px sans-serif; fill: #333; } .head { font-weight: bold; }"


@dataclass(frozen=True, slots=True)
class Bar:
    """One of our figures with its 95% interval, and the paper's where it has one."""

    name: str
    ours: Interval
    paper: float | None = None


Group = tuple[str, Sequence[Bar]]


def draw_figures(root: Path) -> dict[str, str]:
    """Return the figures by file name, of the papers whose records are there."""
    drawn = {}
    for name, (title, read) in _FIGURES.items():
        if groups := [(head, bars) for head, bars in read(root) if bars]:
            drawn[name] = draw(title, groups)
    return drawn


def draw(title: str, groups: Sequence[Group]) -> str:
    """Return groups of horizontal bars with whiskers as an SVG on white; a rhombus marks the paper's figure."""
    bars = [bar for _, some in groups for bar in some]
    most = max(max(bar.ours.high, bar.paper or 0) for bar in bars)
    height = _TOP + sum(_ROW * (len(some) + 1) for _, some in groups) + 8
    parts = [tag("rect", width=_LEFT + _WIDE + _RIGHT, height=height, fill="#fff"), tag("style", Markup(_STYLE))]
    parts += [tag("text", title, x=8, y=18, class_="head"), *_key()]
    top = _TOP
    for head, some in groups:
        parts.append(tag("text", head, x=8, y=top + 16, class_="head"))
        for number, bar in enumerate(some, start=1):
            parts += _draw_bar(bar, top + number * _ROW, _WIDE / most)
        top += _ROW * (len(some) + 1)
    about = "; ".join(f"{bar.name} {bar.ours.value:.3g}, paper {_shown(bar.paper)}" for bar in bars)
    box = f"0 0 {_LEFT + _WIDE + _RIGHT} {height}"
    svg = tag("svg", tag("title", title), tag("desc", about), *parts, viewBox=box, role="img",
              xmlns="http://www.w3.org/2000/svg", width=_LEFT + _WIDE + _RIGHT, height=height)  # fmt: skip
    return f"{svg}\n"


def _shown(value: float | None) -> str:
    return "gives none" if value is None else f"{value:.3g}"


def _key() -> Iterator[Markup]:
    """Yield the explanation of the marks."""
    yield tag("rect", x=8, y=27, width=16, height=10, fill="#5b86c4")
    yield tag("text", "ours, with 95% interval", x=30, y=37)
    yield _rhombus(198, 32)
    yield tag("text", "the paper's", x=210, y=37)


def _rhombus(x: float, y: float) -> Markup:
    return tag("path", d=f"M{x:.1f} {y - 7} l6 7 l-6 7 l-6 -7 z", fill="#c4451c", stroke="#fff")


def _draw_bar(bar: Bar, top: int, scale: float) -> Iterator[Markup]:
    """Yield a bar with its name, its whisker and the paper's mark."""
    low, value, high = (_LEFT + scale * max(0.0, x) for x in (bar.ours.low, bar.ours.value, bar.ours.high))
    yield tag("text", bar.name, x=_LEFT - 8, y=top + 14, text_anchor="end")
    yield tag("rect", x=_LEFT, y=top + 3, width=f"{value - _LEFT:.1f}", height=14, fill="#5b86c4")
    path = f"M{low:.1f} {top + 10} H{high:.1f} M{low:.1f} {top + 6} v8 M{high:.1f} {top + 6} v8"
    yield tag("path", d=path, stroke="#222", fill="none")
    if bar.paper is not None:
        yield _rhombus(_LEFT + scale * bar.paper, top + 10)
    beside = "" if bar.paper is None else f", paper {_shorten(bar.paper)}"
    yield tag("text", f"{_shorten(bar.ours.value)}{beside}", x=_LEFT + _WIDE + 14, y=top + 14)


def _shorten(value: float) -> str:
    """Return a share with three digits after the point, and any larger number with one."""
    return f"{value:.3f}" if value <= 1 else f"{value:.1f}"


# --- what each paper's figure shows

_FACTORS = {
    "ag_news": ("AG News", {"input form": 0.286, "architecture": 0.197, "embedding": 0.085, "capacity": 0.066}),
    "mr-full": ("MR", {"input form": 0.285, "architecture": 0.145, "embedding": 0.114, "capacity": 0.045}),
}
_WEAKEST = {"BiLSTM-Attention": ("LSTM", 0.79), "BERT": ("BERT", 0.52), "Transformer-3": ("Transformer", 0.53)}
_PREGENERATED = {
    "defences-mnli": ("MNLI", {"none": 0.029, "twin": 0.501, "fact": 0.8, "fuse": 0.591, "five": 0.632}),
    "defences": ("IMDB", {"none": 0.002, "twin": 0.827, "fact": 0.872, "fuse": 0.778, "five": 0.62}),
}
_DEFENCES = {"none": "plain", "twin": "retuned", "fact": "FACT", "fuse": "FuSE", "five": "FIVE"}
_TRAINED = {"plain": 0.9816, "hotflip": 0.6932, "hotflip:0.2": 0.6932, "miyato": 0.8743, "blackbox": 0.9563}


def _list_factors(root: Path) -> Iterator[Group]:
    """Yield for each dataset how much each factor counts, in the paper's order."""
    for folder, (name, paper) in _FACTORS.items():
        record = TransferRecord.read(root / "transfer" / folder)
        found = {factor.name: factor.mean for factor in record.factors} if record is not None else {}
        yield name, [Bar(factor, found[factor], paper[factor]) for factor in paper if factor in found]


def _list_weakest(root: Path) -> Iterator[Group]:
    """Yield the success of one changed word, in the place that a zero vector finds."""
    record = OneWordRecord.read(root / "oneword/yelp")
    cells = [] if record is None else [record.cell(model, "gs-gr") for model in _WEAKEST]
    yield "Yelp, 100 texts", [Bar(_WEAKEST[c.model][0], _estimate(c.success), _WEAKEST[c.model][1]) for c in cells if c]


def _list_savings(root: Path) -> Iterator[Group]:
    """Yield how many times fewer queries hybrid search takes than iterative search."""
    record = NaturalRecord.read(root / "natural/regime")
    pairs = () if record is None else record.searches
    yield (
        "MNIST, 60 images",
        [Bar(name_victim(p.victim), p.asked, 4) for p in pairs if (p.one, p.two) == ("hybrid", "iterative")],
    )


def _list_pregenerated(root: Path) -> Iterator[Group]:
    """Yield the accuracy of each defence on adversarial examples that were generated against the plain model.

    The run with the paper's settings is drawn where it has a record.
    """
    for folder, (name, paper) in _PREGENERATED.items():
        record = DefencesRecord.read(root / folder / "published") or DefencesRecord.read(root / folder)
        rows = {} if record is None else {row.name.partition(":")[0]: row for row in record.rows if "(" not in row.name}
        yield name, [Bar(_DEFENCES[one], _estimate(rows[one].premade), paper[one]) for one in paper if one in rows]


def _list_trained(root: Path) -> Iterator[Group]:
    """Yield the attack success rate of a beam of flips after each training, of the run that tunes r if it is there."""
    record = HotFlipRecord.read(root / "hotflip/tuned") or HotFlipRecord.read(root / "hotflip")
    rows = () if record is None else record.hardened
    yield "AG News", [Bar(_name_training(row.name), _estimate(row.success), _TRAINED.get(row.name)) for row in rows]


def _name_training(name: str) -> str:
    """Return a training in words; `hotflip` alone flips a fifth of the characters."""
    kind, _, share = name.partition(":")
    if kind == "hotflip":
        return f"flips, {100 * float(share or 0.2):g}%"
    return {"plain": "none", "miyato": "Miyato", "blackbox": "random flips"}.get(kind, kind)


def _estimate(rate: Rate) -> Estimate:
    return Estimate(rate.value, *rate.interval)


_FIGURES: dict[str, tuple[str, Callable[[Path], Iterator[Group]]]] = {
    "universal.svg": ("How much each factor counts for transfer (U2)", _list_factors),
    "attentive.svg": ("Success of one changed word, GS-GR (S1)", _list_weakest),
    "natural.svg": ("Times fewer queries of hybrid search (N2)", _list_savings),
    "firebert.svg": ("Accuracy on pre-generated adversarial examples (F1, F2)", _list_pregenerated),
    "hotflip.svg": ("Attack success rate by training (H4)", _list_trained),
}
