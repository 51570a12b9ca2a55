"""Neighbourhoods of attacked words as figures: strips of neighbours by a model's label, and fields of noisy vectors."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.features.defending.evaluation_record import (
    DefencesRecord,
    Neighbourhood,
    NeighboursKept,
    NeighbourStrip,
    NoiseField,
)
from malaprop.frame.report.figures import clip, figure, stroke
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.tables import grid, panel, panels

_CELL, _LEFT, _ROW, _TOP = 30, 190, 24, 96
_SIDE = 260


def closely(trial: DefencesRecord) -> Markup:
    """Return all neighbourhoods of a test; empty where there are none."""
    if not trial.pictures and not any(one.texts for one in trial.around):
        return Markup("")
    body: list[Child] = [tag("h3", "Neighbourhoods of attacked words")]
    if trial.around and trial.around[0].texts:
        body.append(_around(trial.around))
    body += [_look(one, trial.labels) for one in trial.pictures]
    return join(*body)


def _around(found: Sequence[NeighboursKept]) -> Markup:
    note = (
        f"Of {found[0].texts:,} successes against the undefended model: the nearest words of the first changed word, "
        "each in its place in the text, that leave the true label. Intervals count texts, not words."
    )
    rows = [(a.model, str(a.original), str(a.adversarial)) for a in found]
    return join(tag("p", note), grid("Neighbours", ("Model", "Around the original", "Around the adversarial"), rows))


def _look(one: Neighbourhood, labels: Sequence[str]) -> Markup:
    names = tag("p", "“", tag("strong", one.word), "” became “", tag("strong", one.swapped), "” in: ", one.adversarial)
    figures = [panel("Neighbours in their place", strips(one, labels))]
    figures += [panel(f"{f.model}: noise of {f.noise:g} on the vector ({f.how})", field(f, labels)) for f in one.fields]
    return join(names, panels(*figures))


def strips(one: Neighbourhood, labels: Sequence[str]) -> Markup:
    """Return a row of cells for each model and each word; a cell is the fuller the higher the true label's score."""
    most = max(len(strip.words) for strip in one.strips)
    wide, parts, top = _LEFT + _CELL * most + 60, list[Markup](), 0
    for adversarial in (False, True):
        mine = [strip for strip in one.strips if strip.adversarial == adversarial]
        if mine:
            parts.append(_words(mine[0], top))
            parts += [_cells(strip, one.label, top + _TOP + _ROW * i) for i, strip in enumerate(mine)]
            top += _TOP + _ROW * len(mine) + 14
    title = f"Neighbours of {one.word} and of {one.swapped}"
    about = "; ".join(
        f"{s.model} around {s.around}: {sum(label == one.label for label in s.labels)} of {len(s.labels)} keep "
        f"{_name_label(labels, one.label)}"
        for s in one.strips
    )
    return figure("strips", title, about, (wide, top), *parts)


def _name_label(labels: Sequence[str], label: int) -> str:
    return labels[label] if 0 <= label < len(labels) else str(label)


def _words(strip: NeighbourStrip, top: int) -> Markup:
    parts = []
    for place, word in enumerate(strip.words):
        x, y = _LEFT + _CELL * place + _CELL / 2, top + _TOP - 6
        parts.append(tag("text", tag("title", word), clip(word, 13), x=x, y=y, transform=f"rotate(-50 {x:g} {y})"))
    return tag("g", *parts)


def _cells(strip: NeighbourStrip, label: int, top: int) -> Markup:
    name = f"{strip.model}, around “{strip.around}”"
    parts = [tag("text", tag("title", name), clip(name, 28), x=_LEFT - 8, y=top + 15, text_anchor="end", class_="name")]
    for place, (word, given, score) in enumerate(zip(strip.words, strip.labels, strip.scores, strict=True)):
        x = _LEFT + _CELL * place
        right = given == label
        title = tag("title", f"{word}: {'right' if right else 'wrong'}, {100 * score:.0f}% for the true label")
        paint = f"fill:{stroke(0 if right else 1)[0]};fill-opacity:{0.15 + 0.75 * abs(2 * score - 1):.2f}"
        parts.append(tag("rect", title, x=x + 1, y=top + 1, width=_CELL - 2, height=_ROW - 4, rx=3, style=paint))
        parts.append(tag("text", "✓" if right else "✗", x=x + _CELL / 2, y=top + 15, text_anchor="middle"))
    return tag("g", *parts)


def field(one: NoiseField, labels: Sequence[str]) -> Markup:
    """Return a scatter plot of noisy vectors: the shape shows the word, the colour the label."""
    xs, ys = [p[0] for p in one.points], [p[1] for p in one.points]
    low_x, high_x, low_y, high_y = min(xs), max(xs), min(ys), max(ys)
    parts = []
    for x, y, label, adversarial in one.points:
        left = 10 + (x - low_x) / ((high_x - low_x) or 1) * (_SIDE - 20)
        down = 10 + (high_y - y) / ((high_y - low_y) or 1) * (_SIDE - 20)
        paint = f"fill:{stroke(label)[0]};fill-opacity:0.75;stroke:none"
        if adversarial:
            parts.append(tag("rect", x=f"{left - 2.5:.1f}", y=f"{down - 2.5:.1f}", width=5, height=5, style=paint))
        else:
            parts.append(tag("circle", cx=f"{left:.1f}", cy=f"{down:.1f}", r=2.5, style=paint))
    counts = [
        f"around the {'adversarial' if side else 'original'} word "
        + ", ".join(f"{n} are {_name_label(labels, label)}" for label, n in _counts(one, side))
        for side in (False, True)
    ]
    about = "; ".join(counts)
    about = about[0].upper() + about[1:]
    drawn = figure("field", f"Noisy vectors, {one.model}", about, (_SIDE, _SIDE), *parts)
    return join(
        drawn,
        tag("p", f"Circles: around the original word. Squares: around the adversarial one. {about}.", class_="small"),
    )


def _counts(one: NoiseField, adversarial: bool) -> list[tuple[int, int]]:
    found = [label for _, _, label, ours in one.points if ours == adversarial]
    return [(label, found.count(label)) for label in sorted(set(found))]
