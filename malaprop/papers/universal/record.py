"""The record of a transfer study (models, transfer counts, factors, classes) and its section of the report."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.figures import figure
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import bullets, card, lines_of, panel, scroll, table

FILE = "transfer.json"
Row = tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The traits of a model that the paper varies one at a time."""

    architecture: str
    input: str
    embedding: str
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferModel:
    """A model that is source and target. `spec` is what `--victim` takes; `second` names one of another seed.

    `counts` are its outcomes as a source, by status; `drawn` of its successes were tried on the others.
    """

    name: str
    spec: str
    number: int | None  # in the paper's table of 63
    traits: Traits | None
    second: str | None
    second_spec: str | None
    counts: dict[str, int]
    drawn: int
    asked: int
    forwarded: int

    @property
    def clean(self) -> Rate:
        right = self.counts.get("success", 0) + self.counts.get("failed", 0)
        return Rate(right, right + self.counts.get("skipped", 0))

    @property
    def success(self) -> Rate:
        won = self.counts.get("success", 0)
        return Rate(won, won + self.counts.get("failed", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A factor's effect: the mean absolute difference to the base rate over pairs of models that differ in one trait.

    `noise` is what that mean would be about if there were no difference at all, from the counts behind each rate.
    """

    name: str
    about: str
    mean: Estimate
    noise: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTable:
    """Mean rates between classes of models, sources down and targets across; None where there is no pair."""

    name: str
    classes: tuple[str, ...]
    models: tuple[int, ...]  # of each class
    cells: tuple[tuple[Estimate | None, ...], ...]
    sources: tuple[float | None, ...]  # mean of each row
    targets: tuple[float | None, ...]  # mean of each column


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What the attacks cost: `wall` seconds by the clock, `busy` seconds of all processes together.

    `floor` is the time that plain forward passes over all forwarded texts would take.
    """

    asked: int = 0
    forwarded: int = 0
    wall: float = 0.0
    busy: float = 0.0
    floor: float = 0.0
    scored: int = 0
    scoring: float = 0.0
    jobs: int = 1
    device: str = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRecord(Record):
    """The result of a transfer study: of `totals[s][t]` adversarial texts of source s, target t gets `hits` wrong.

    Of them t had `before` right in the original, and `carried` of those it now gets wrong. On the diagonal stands the
    second of each model, trained from another seed: its base rate. None where there is none.
    """

    recipe: str
    data: str
    data_spec: str  # as it was typed
    trained_on: str  # what zoo names were trained on; empty where there are none
    texts: int
    wanted: int
    seed: int
    split: str
    columns: dict[str, str | None]
    settings: dict[str, Any]
    labels: tuple[str, ...]
    models: tuple[TransferModel, ...]
    hits: tuple[Row, ...]
    totals: tuple[Row, ...]
    before: tuple[Row, ...]
    carried: tuple[Row, ...]
    factors: tuple[Factor, ...] = ()
    order: tuple[str, ...] = ()  # of the factors, the largest first
    order_share: float | None = None  # of the resamples, how many have the paper's order
    tables: tuple[ClassTable, ...] = ()
    base: Estimate | None = None  # mean of the base rates
    pairs: Estimate | None = None  # mean over all pairs of two models
    speed: Speed = Speed()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        many = len(self.models)
        for name in ("hits", "totals", "before", "carried"):
            if [len(row) for row in getattr(self, name)] != [many] * many:
                raise ValueError(f"{name} is not {many} by {many}")

    def rate(self, source: int, target: int) -> Rate | None:
        hits, total = self.hits[source][target], self.totals[source][target]
        return None if hits is None or not total else Rate(hits, total)


TITLE = "Transfer"

_NUMBERED = 40  # models up to which each cell of the map shows its rate
_WIDEST = 12  # models up to which the matrix is printed
_COLUMNS = ("source", "target", "hits", "total", "rate", "low", "high", "right_before", "carried")
_INK = 0.75  # of the strongest shade: numbers stay readable on it, in light and in dark


def transfers(found: Sequence[TransferRecord]) -> Markup:
    """Return a card for each study."""
    return join(*(_card(record, number) for number, record in enumerate(found)))


def headline(found: Sequence[TransferRecord]) -> Markup | None:
    """Say in one sentence how often attacks transfer in the first study."""
    record = found[0]
    count = tag("strong", f"{record.recipe} on {len(record.models)} models")
    if record.pairs is None:
        return join(count, ": no rate between two of them is known.")
    share = tag("strong", f"{100 * record.pairs.value:.0f}%")
    said = (count, ": what breaks one of them is wrong for another in ", share, " of the texts")
    if record.base is None:
        return join(*said, ".")
    return join(*said, f", and in {100 * record.base.value:.0f}% for the same model trained again.")


def _card(record: TransferRecord, number: int) -> Markup:
    lead = (
        f"{record.recipe} on {record.data}: {len(record.models)} models attacked on {record.texts:,} texts each; up to "
        f"{record.wanted} successes of each, drawn by the seed, tried on all. A rate is the share that the target gets "
        "wrong. On the diagonal the target is the same model trained from another seed: its base rate."
    )
    body: list[Child] = [_figure(record), _lines(record), _factors(record), *map(_classes, record.tables)]
    body += [_models(record), _speed(record.speed), bullets("Notes", record.notes)]
    return card(f"transfer-{number}", TITLE, lead, *body)


def _name(model: TransferModel) -> str:
    return f"{model.number} {model.name}" if model.number else model.name


def heat_map(record: TransferRecord) -> Markup:
    """Draw Figure 3: sources down, targets across, in the order of the paper's numbers."""
    many = len(record.models)
    numbered = many <= _NUMBERED
    cell, size = (38, 12) if numbered else (14, 8)
    scale = _scale(record, numbered)
    left = top = 24 + int(size * 0.62 * max(len(_name(model)) for model in record.models))
    width, height = left + many * cell + 8, top + many * cell + 8
    parts: list[Markup] = []
    for at, model in enumerate(record.models):
        middle = at * cell + cell / 2
        parts.append(tag("text", _name(model), x=left - 6, y=top + middle, dy="0.34em", text_anchor="end"))
        turn = f"translate({left + middle:g} {top - 6}) rotate(-90)"
        parts.append(tag("text", _name(model), transform=turn, dy="0.34em"))
    for s in range(many):
        parts += [_cell(record, s, t, left, top, cell, numbered, scale) for t in range(many)]
    style = f"width:{width}px;max-width:none;font-size:{size}px"
    return figure("heat", "Transfer between models", _about(record), (width, height), *parts, style=style)


def _scale(record: TransferRecord, numbered: bool) -> Callable[[float], float]:
    """Return the shade of a rate: light enough to read numbers on, or the full scale where cells have no numbers."""
    many = range(len(record.models))
    found = [rate.value for s in many for t in many if (rate := record.rate(s, t))]
    most = max(found, default=1.0) or 1.0
    if numbered:
        return lambda value: _INK * value / most
    least = min(found, default=0.0)
    return lambda value: 0.03 + 0.94 * (value - least) / max(most - least, 1e-9)


def _about(record: TransferRecord) -> str:
    pairs = "" if record.pairs is None else f"Mean over pairs of two models {record.pairs}. "
    base = "" if record.base is None else f"Mean base rate {record.base}. "
    return f"Sources down, targets across. {pairs}{base}The same figures stand in matrix.csv."


def _cell(
    record: TransferRecord,
    s: int,
    t: int,
    left: int,
    top: int,
    cell: int,
    numbered: bool,
    scale: Callable[[float], float],
) -> Markup:
    rate = record.rate(s, t)
    x, y = left + t * cell, top + s * cell
    source, target = record.models[s].name, record.models[t]
    whom = target.name if s != t else target.second or f"{target.name}, which has no second"
    if rate is None:
        told = tag("title", f"{source} to {whom}: not tried")
        return tag("rect", told, x=x, y=y, width=cell - 1, height=cell - 1, style="fill:var(--grid)")
    shade = f"fill:var(--broken-hue);fill-opacity:{scale(rate.value):.3f}"
    frame = "stroke:var(--ink);stroke-width:1" if s == t else ""
    box = tag(
        "rect",
        tag("title", f"{source} to {whom}: {rate}"),
        x=x,
        y=y,
        width=cell - 1,
        height=cell - 1,
        style=";".join(filter(None, (shade, frame))),
    )
    if not numbered:
        return box
    shown = f"{rate.value:.2f}".lstrip("0") if rate.value < 1 else "1"
    number = tag(
        "text", shown, x=x + cell / 2, y=y + cell / 2, dy="0.34em", text_anchor="middle", class_="value",
        pointer_events="none",
    )  # fmt: skip
    return join(box, number)


def _figure(record: TransferRecord) -> Markup:
    title = "Share of the source's adversarial texts that the target gets wrong: sources down, targets across"
    return panel(title, scroll(heat_map(record), 0, "Heat map of transfer"))


def _lines(record: TransferRecord) -> Markup:
    rows = []
    if record.base is not None:
        rows.append(("Base rate: to the same model trained from another seed", str(record.base)))
    if record.pairs is not None:
        rows.append(("All pairs of two models", str(record.pairs)))
    return table("Means", ("Over", "Rate, with 95% interval by resampling models"), rows) if rows else Markup("")


def factor_rows(factors: Sequence[Factor]) -> list[tuple[str, str, str, str, str]]:
    return [(f.name, str(f.mean), f"{f.noise:.3f}", f"{f.pairs}", f.about) for f in factors]


def _factors(record: TransferRecord) -> Markup:
    if not record.factors:
        return Markup("")
    note = (
        "Pairs of models that differ in one trait alone: mean absolute difference between the rate and the target's "
        "base rate. Noise is what that mean would be about if nothing differed, from the counts; a factor near it "
        "shows nothing. Intervals come from resampling models, "
        "widened by what the counts leave open."
    )
    if record.order_share is not None:
        share = f"{100 * record.order_share:.1f}%"
        note += f" In {share} of the resamples the order is the paper's: input form, architecture, embedding, capacity."
    names = ("Factor", "Difference", "Noise", "Pairs", "Varied")
    return table("What decides whether an attack carries over", names, factor_rows(record.factors), note)


def _short(cell: Estimate | None) -> str:
    return "n/a" if cell is None else str(cell)


def _classes(found: ClassTable) -> Markup:
    rows = [
        (f"{name} ({many})", *map(_short, cells), "n/a" if mean is None else f"{mean:.3f}")
        for name, many, cells, mean in zip(found.classes, found.models, found.cells, found.sources, strict=True)
    ]
    means = ("n/a" if mean is None else f"{mean:.3f}" for mean in found.targets)
    rows.append(("Average", *means, ""))
    note = "Mean rates over pairs, sources down, targets across; base rates stand in for a model on itself."
    return table(f"By {found.name}", ("Source", *found.classes, "Average"), rows, note)


def _models(record: TransferRecord) -> Markup:
    rows = [(_name(m), str(m.clean), str(m.success), m.drawn, m.second or "none") for m in record.models]
    return table("Sources", ("Model", "Right without attack", "Attack success", "Tried on others", "Second"), rows)


def speed_line(speed: Speed) -> str:
    """Say in one sentence what the attacks cost; empty if none ran."""
    if not speed.wall:
        return ""
    share = f"{speed.floor / speed.busy:.2f}" if speed.busy else "n/a"
    return (
        f"{speed.asked:,} queries asked and {speed.forwarded:,} forwarded in {speed.wall:.1f} s "
        f"({speed.asked / speed.wall:,.0f} asked a second, {speed.jobs} at a time); plain forward passes over the "
        f"forwarded ones alone would take {speed.floor:.1f} s, {share} of the attacks' {speed.busy:.1f} s; "
        f"{speed.scored:,} answers of targets in {speed.scoring:.1f} s"
    )


def _speed(speed: Speed) -> Markup:
    line = speed_line(speed)
    return tag("p", f"{line}.", class_="quiet") if line else Markup("")


def terminal(record: TransferRecord) -> str:
    """Return the text for the terminal: the matrix where it fits, factors, classes and speed."""
    parts = []
    if len(record.models) <= _WIDEST:
        names = [f"[{at}]" for at in range(1, len(record.models) + 1)]
        title = "share that the target (across) gets wrong; diagonal: the same model from another seed"
        rows = [
            (f"[{s + 1}] {model.name}", *(_brief(record, s, t) for t in range(len(record.models))), str(model.drawn))
            for s, model in enumerate(record.models)
        ]
        parts.append(lines_of(title, ("source", *names, "tried"), rows))
    if record.factors:
        head = ("factor", "difference to base (95%)", "noise", "pairs")
        rows = [row[: len(head)] for row in factor_rows(record.factors)]
        parts.append(lines_of("what decides whether an attack carries over", head, rows))
        if record.order_share is not None:
            share = f"{100 * record.order_share:.1f}% of resamples"
            parts.append(f"order here: {' > '.join(record.order)}; the paper's (input form first) in {share}")
    for found in record.tables:
        cells = [["n/a" if cell is None else f"{cell.value:.3f}" for cell in row] for row in found.cells]
        rows = [(name, *row) for name, row in zip(found.classes, cells, strict=True)]
        parts.append(lines_of(f"by {found.name}: sources down, targets across", ("source", *found.classes), rows))
    means = (("base rates", record.base), ("all pairs of two models", record.pairs))
    parts += [f"mean of {name}: {mean}" for name, mean in means if mean is not None]
    return "\n".join(filter(None, (*parts, *record.notes, speed_line(record.speed))))


def _brief(record: TransferRecord, s: int, t: int) -> str:
    rate = record.rate(s, t)
    return "-" if rate is None else f"{rate.value:.2f}"


def matrix_csv(record: TransferRecord) -> str:
    """Return matrix.csv: a line for each pair that was tried; on the diagonal the target is the model's second."""
    file = io.StringIO(newline="")
    sheet = csv.writer(file)
    sheet.writerow(_COLUMNS)
    for s, source in enumerate(record.models):
        for t, target in enumerate(record.models):
            if (rate := record.rate(s, t)) is not None:
                low, high = rate.interval
                name = target.name if s != t else target.second
                figures = (rate.hits, rate.total, *(f"{x:.4f}" for x in (rate.value, low, high)))
                sheet.writerow((source.name, name, *figures, record.before[s][t], record.carried[s][t]))
    return file.getvalue()


SECTION = Section(rank=10, title=TITLE, body=transfers, terminal=terminal, headline=headline)
