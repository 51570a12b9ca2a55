"""The part of the page that shows ensembles: how far their adversarial texts carry, by size and by who chose them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from malaprop.records.ensembles import ChosenEnsemble, EnsemblesRecord
from malaprop.records.transfer import Estimate
from malaprop.reports.figures import legend, percent, stroke
from malaprop.reports.markup import Markup, join, tag
from malaprop.reports.section import Section
from malaprop.reports.tables import bullets, card, lines_of, panel, table

TITLE = "Ensembles"
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 320, 46, 20, 12, 44
_UPPER, _LOWER = 6, 7  # colours of the lines of reference


def teams(found: Sequence[EnsemblesRecord]) -> Markup:
    """A card for each record; nothing where there is none."""
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
    """By who chose: size and mean rate on models outside."""
    out: dict[str, list[tuple[int, Estimate]]] = {}
    for chosen in record.chosen:
        if chosen.outside is not None:
            out.setdefault(chosen.how, []).append((chosen.size, chosen.outside))
    return {how: sorted(points, key=lambda point: point[0]) for how, points in out.items()}


def _figure(record: EnsemblesRecord) -> Markup:
    lines = curves(record)
    if not lines:
        return Markup("")
    title = "Rate on models outside the ensemble, by its size"
    names = [(how, color) for color, how in enumerate(lines)]
    key = [*names]
    if record.upper is not None:
        key.append(("mean base rate", _UPPER))
    if record.lower is not None:
        key.append(("mean over all pairs", _LOWER))
    return panel(title, _chart(record, lines), legend(key))


def _chart(record: EnsemblesRecord, lines: dict[str, list[tuple[int, Estimate]]]) -> Markup:
    sizes = sorted({size for points in lines.values() for size, _ in points})
    said = (f"{how} from {points[0][1]} at size {points[0][0]} to {points[-1][1]} at size {points[-1][0]}"
            for how, points in lines.items())  # fmt: skip
    about = "Rate on models outside against the size of the ensemble: " + "; ".join(said)
    drawn = [*_frame(sizes)]
    for line, color in ((record.upper, _UPPER), (record.lower, _LOWER)):
        if line is not None:
            drawn.append(_level(line, color))
    drawn += [_curve(how, color, points, sizes) for color, (how, points) in enumerate(lines.items())]
    return tag(
        "svg",
        tag("title", "Transfer of ensembles"),
        tag("desc", about),
        *drawn,
        role="img",
        class_="figure lines",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        style="max-width:680px",
        aria_label=f"Transfer of ensembles. {about}",
    )


def _x(size: int, sizes: Sequence[int]) -> float:
    share = (sizes.index(size) + 0.5) / len(sizes)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)


def _frame(sizes: Sequence[int]) -> Iterator[Markup]:
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = f"{_y(share):.1f}"
        yield tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="base" if share == 0 else "grid")
        yield tag("text", percent(share), x=_LEFT - 8, y=y, dy="0.34em", text_anchor="end")
    for size in sizes:
        yield tag("text", size, x=f"{_x(size, sizes):.1f}", y=_HEIGHT - _BOTTOM + 19, text_anchor="middle")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield tag("text", "Size of the ensemble", x=middle, y=_HEIGHT - 6, text_anchor="middle", class_="axis")


def _level(line: Estimate, color: int) -> Markup:
    paint, dash = stroke(color)
    y = f"{_y(line.value):.1f}"
    return tag(
        "line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="line", style=f"stroke:{paint}",
        stroke_dasharray=dash or None,
    )  # fmt: skip


def _curve(how: str, color: int, points: Sequence[tuple[int, Estimate]], sizes: Sequence[int]) -> Markup:
    paint, dash = stroke(color)
    shift = 4 * (color - 1.5)  # so that intervals of one size stand side by side
    places = [(_x(size, sizes) + shift, e) for size, e in points]
    whiskers = [
        tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=f"{_y(e.low):.1f}", y2=f"{_y(e.high):.1f}") for x, e in places
    ]
    dots = [tag("circle", cx=f"{x:.1f}", cy=f"{_y(e.value):.1f}", r=3, style=f"fill:{paint}") for x, e in places]
    path = "L".join(f"{x:.1f} {_y(e.value):.1f}" for x, e in places)
    line = tag(
        "path", tag("title", how), d=f"M{path}", class_="line", style=f"stroke:{paint}", stroke_dasharray=dash or None
    )
    return tag("g", tag("g", *whiskers, class_="whisker"), line, *dots)


def _shown(value: Estimate | None) -> str:
    return "n/a" if value is None else str(value)


def rows(record: EnsemblesRecord) -> list[tuple[str, ...]]:
    """One line an ensemble: size, choice, members, fitness, success, what was tried, and its rates."""
    return [_row(chosen, bool(record.unseen)) for chosen in record.chosen]


def _row(chosen: ChosenEnsemble, unseen: bool) -> tuple[str, ...]:
    figures = (_shown(chosen.outside), _shown(chosen.common), *((_shown(chosen.unseen),) if unseen else ()))
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
    return ("Size, chosen by", "Members", "Fitness", "Broken", "Tried", "Outside", "Outside all of that size", *held)


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
    """A line an ensemble, its members, and the two lines of reference."""
    held = ("on what no choice saw",) if record.unseen else ()
    names = ("size, chosen by", "fitness", "broken", "tried", "rate outside (95%)", *held)
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


SECTION = Section(rank=11, title=TITLE, body=teams, terminal=terminal)
