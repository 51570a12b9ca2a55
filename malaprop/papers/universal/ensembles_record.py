"""The record of an ensemble study (how far adversarial texts of chosen ensembles transfer) and its report section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.figures import Axis, Mark, legend, rate_chart
from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import bullets, card, lines_of, panel, panels, table
from malaprop.papers.universal.record import Row

FILE = "ensembles.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEnsemble:
    """One ensemble. `fitness` is computed from the transfer matrix; the rest was measured by attacking the ensemble.

    `hits` of `totals` texts are wrong for each model of the study, None for members. `outside` is the mean over models
    that are no members, `common` over those in none of the ensembles of that size, `unseen` over those that the choice
    did not know; None where there are none, or where the ensemble broke no text.
    """

    size: int
    how: str
    members: tuple[str, ...]
    fitness: float
    counts: dict[str, int]
    drawn: int
    hits: Row
    totals: Row
    outside: Estimate | None
    common: Estimate | None
    unseen: Estimate | None

    @property
    def success(self) -> Rate:
        won = self.counts.get("success", 0)
        return Rate(won, won + self.counts.get("failed", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The difference in transfer rate between two ensembles, over models outside both."""

    size: int
    first: str
    second: str
    difference: Estimate
    targets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsemblesRecord(Record):
    """`upper` is the mean of the base rates, `lower` the mean over all pairs of models: the lines of Figure 1."""

    recipe: str
    data: str
    texts: int
    wanted: int
    seed: int
    models: tuple[str, ...]
    unseen: tuple[str, ...]
    upper: Estimate | None
    lower: Estimate | None
    chosen: tuple[ChosenEnsemble, ...]
    contrasts: tuple[Contrast, ...] = ()
    notes: tuple[str, ...] = ()


TITLE = "Ensembles"


def ensemble_cards(found: Sequence[EnsemblesRecord]) -> Markup:
    """Return a card for each record."""
    return join(*(_card(record, number) for number, record in enumerate(found)))


def _card(record: EnsemblesRecord, number: int) -> Markup:
    lead = (
        f"{record.recipe} on {record.data}: ensembles of models (the mean of their logits) were attacked, and their "
        "adversarial texts tried on the models outside. Fitness is what the choice went by: the mean over models of "
        "the best member's rate. Intervals come from resampling texts and models."
    )
    parts = (_figure(record), _table(record), _contrasts(record), bullets("Notes", record.notes))
    return card(f"ensembles-{number}", TITLE, lead, *parts)


def curves(record: EnsemblesRecord) -> dict[str, list[tuple[int, Estimate]]]:
    """Return for each way of choice the sizes and the mean rates on models outside the ensemble."""
    out: dict[str, list[tuple[int, Estimate]]] = {}
    for chosen in record.chosen:
        if chosen.outside is not None:
            out.setdefault(chosen.how, []).append((chosen.size, chosen.outside))
    return {how: sorted(points, key=lambda point: point[0]) for how, points in out.items()}


def _figure(record: EnsemblesRecord) -> Markup:
    lines = curves(record)
    if not lines:
        return Markup("")
    sizes = sorted({size for points in lines.values() for size, _ in points})
    axis = Axis(label="Size of the ensemble", low=-0.5, high=len(sizes) - 0.5, marks=range(len(sizes)),
                show=lambda at: str(sizes[int(at)]))  # fmt: skip
    drawn = [
        (how, color, [Mark(sizes.index(size), e.value, e.low, e.high) for size, e in points])
        for color, (how, points) in enumerate(lines.items())
    ]
    known = [(name, color, line) for name, color, line in _levels(record) if line is not None]
    levels = [(color, line.value) for _, color, line in known]
    chart = rate_chart("Transfer of ensembles", "Rate on models outside", drawn, axis, levels)
    key = [(how, color) for color, how in enumerate(lines)] + [(name, color) for name, color, _ in known]
    return panels(panel("Rate on models outside the ensemble, by its size", chart, legend(key)), kind="panels lone")


def _levels(record: EnsemblesRecord) -> tuple[tuple[str, int, Estimate | None], ...]:
    return ("mean base rate", 6, record.upper), ("mean over all pairs", 7, record.lower)


def _show(value: Estimate | None) -> str:
    return "n/a" if value is None else str(value)


def rows(record: EnsemblesRecord) -> list[tuple[str, ...]]:
    """Return a table row for each ensemble: size, choice, members, fitness, success, texts tried, and rates."""
    return [_row(chosen, bool(record.unseen)) for chosen in record.chosen]


def _row(chosen: ChosenEnsemble, unseen: bool) -> tuple[str, ...]:
    figures = (_show(chosen.outside), _show(chosen.common), *((_show(chosen.unseen),) if unseen else ()))
    members = ", ".join(chosen.members)
    return (
        f"{chosen.size}, {chosen.how}",
        members,
        f"{chosen.fitness:.3f}",
        str(chosen.success),
        f"{chosen.drawn}",
        *figures,
    )


def names(record: EnsemblesRecord) -> tuple[str, ...]:
    held = (f"{len(record.unseen)} models no choice saw",) if record.unseen else ()
    rates = ("Attack success", "Tried", "Outside", "Outside all of that size")
    return ("Size, chosen by", "Members", "Fitness", *rates, *held)


def _table(record: EnsemblesRecord) -> Markup:
    lines = []
    if record.upper is not None:
        lines.append(f"Mean base rate: {record.upper}.")
    if record.lower is not None:
        lines.append(f"Mean over all pairs of models: {record.lower}.")
    return table("How far each carries", names(record), rows(record), " ".join(lines))


def _contrasts(record: EnsemblesRecord) -> Markup:
    if not record.contrasts:
        return Markup("")
    lines = [
        (f"{c.size}: {c.first} over {c.second}", f"{c.difference.value:+.3f}",
         f"{c.difference.low:+.3f} to {c.difference.high:+.3f}", c.targets)
        for c in record.contrasts
    ]  # fmt: skip
    return table("One choice against another", ("Size", "Difference", "95% interval", "Models outside both"), lines)


def terminal(record: EnsemblesRecord) -> str:
    """Return the table for the terminal: a line for each ensemble, its members, and the two reference rates."""
    held = ("on what no choice saw",) if record.unseen else ()
    names = ("size, chosen by", "fitness", "success", "tried", "rate outside (95%)", *held)
    found = rows(record)
    title = "ensembles, attacked and tried on the models outside"
    parts = [lines_of(title, names, [(row[0], *row[2:6], *row[7:]) for row in found])]
    parts += [f"{row[0]}: {row[1]}" for row in found]
    means = (("base rates", record.upper), ("all pairs of two models", record.lower))
    parts += [f"mean of {name}: {mean}" for name, mean in means if mean is not None]
    for contrast in record.contrasts:
        ahead = "{:+.3f} ({:+.3f} to {:+.3f})".format(*astuple(contrast.difference))
        line = f"size {contrast.size}: {contrast.first} over {contrast.second} {ahead}"
        parts.append(f"{line}, on {contrast.targets} models outside both")
    return "\n".join((*parts, *record.notes))


SECTION = Section(rank=11, title=TITLE, body=ensemble_cards, terminal=terminal)
