"""A defence test in the report and in the terminal, from its record alone; with figures of the neighbours of words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from malaprop.features.defending import certified_record as certified
from malaprop.features.defending.evaluation_record import (
    AttackedDefence,
    DefenceAttacked,
    DefenceRow,
    DefencesRecord,
    Neighbourhood,
    NeighboursKept,
    NeighbourStrip,
    NoiseField,
)
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.figures import clip, figure, stroke
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.scatter import RateDot, dots, key
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, bullets, card, grid, number, panel, panels, share, table, text_of

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


TITLE = "Defence test"
KINDS = (
    *("No attack", "Pre-generated texts", "Attack", "Attack that knows it"),
    *("Attack within the certificate's changes", "Certified", "Transferred attack"),
)
_VALIDITY = {
    "valid": "Guards and a judge keep the meaning of the texts. ",
    "strict": "Guards and a judge keep the meaning of the texts, by strict bounds. ",
}


def trials(found: Sequence[DefencesRecord]) -> Markup:
    """Return a card for each test, after the leaderboard where there are several; empty where there are none."""
    from malaprop.features.defending.leaderboard import show

    return join(show(found), *(_card(trial, number) for number, trial in enumerate(found)))


def _card(trial: DefencesRecord, place: int) -> Markup:
    lead = (
        f"{trial.victim} on {trial.data}: {' and '.join(trial.attacks)} on {trial.texts:,} texts, each defence beside "
        f"none. {_VALIDITY.get(trial.validity, '')}"
        f"Pre-generated texts: {trial.premade}, {_count_made(trial):,} of them. "
        "Rates are accuracies with 95% intervals."
    )
    shown = [row.certified for row in trial.rows if row.certified]
    body: list[Child] = [_verdicts(trial.rows), _figure(trial.rows), _table(trial), _effort(trial.rows)]
    if shown:
        body += [certified.figure(shown), certified.table(shown), _list_checks(trial.rows)]
    return card(f"defences-{place}", TITLE, lead, *body, closely(trial))


def _count_made(trial: DefencesRecord) -> int:
    return trial.rows[0].premade.total if trial.rows else 0


def _verdicts(rows: Sequence[DefenceRow]) -> Markup:
    return bullets("", (join(tag("strong", row.name), ": ", row.verdict) for row in rows if row.name != "none"))


def _figure(rows: Sequence[DefenceRow]) -> Markup:
    lines = [
        (name, [RateDot(kind, color, rate) for color, (kind, rate) in enumerate(_rates(row)) if rate])
        for name, row in zip(short([row.name for row in rows]), rows, strict=True)
    ]
    title = "Accuracy with each defence"
    return panels(panel(title, dots(title, lines), key(KINDS)))


def short(names: Sequence[str]) -> list[str]:
    """Return the names without their settings, where they stay distinct."""
    bare = [re.sub(r":[^():]+", "", name) for name in names]
    return [less if bare.count(less) == 1 else name for less, name in zip(bare, names, strict=True)]


def _rates(row: DefenceRow) -> list[tuple[str, Rate | None]]:
    knowing = row.adaptive.accuracy if row.adaptive else None
    inside = row.checked.within.accuracy if row.checked and row.checked.within else None
    rates = (row.clean, row.premade, row.active.accuracy, knowing, inside, read_certified(row), row.transferred)
    return list(zip(KINDS, rates, strict=True))


def read_certified(row: DefenceRow) -> Rate | None:
    """Return the certified accuracy to compare with the attack inside certificates: any number of changes, or one."""
    if row.certified is None:
        return None
    return row.certified.every if row.certified.defence.startswith("safer") else row.certified.certified[1]


def head_of(trial: DefencesRecord) -> tuple[str, ...]:
    """Return the names of the columns, three for each attack."""
    each = ("Under attack", "Under an attack that knows it", "Transferred attack")
    many = [(attack, f"{attack} that knows it", f"{attack}, transferred") for attack in trial.attacks]
    under = [name for names in (many if len(many) > 1 else [each]) for name in names]
    last = ("Under the worst", "Gain", "Certified", "Time", "Passes")
    return ("Defence", "No attack", "Pre-generated texts", *under, *last)


def cells_of(row: DefenceRow) -> tuple[str, ...]:
    """Return the cells of a defence, in the order of `head_of`; the gain is that under the worst of all attacks."""
    first = AttackedDefence(attack="", active=row.active, adaptive=row.adaptive, transferred=row.transferred)
    under = [
        cell
        for one in (first, *row.others)
        for cell in (str(one.active.accuracy), _knowing(one.adaptive, row), text_of(one.transferred))
    ]
    gain = DASH if row.name == "none" else str(row.kept)
    return (
        row.name,
        str(row.clean),
        str(row.premade),
        *under,
        str(row.worst),
        gain,
        text_of(read_certified(row)),
        show_cost(row.cost),
        f"{row.passes:g}",
    )


def _table(trial: DefencesRecord) -> Markup:
    rows = trial.rows
    draws = next((row.adaptive for row in rows if row.adaptive and row.adaptive.draws), None)
    evading = any(row.adaptive and not row.adaptive.draws for row in rows)
    note = (
        "The transferred attack asks a defence about the texts that broke the undefended victim. Under the worst: "
        "correct under every attack. The gain is that over no defence. Time is a multiple of the victim's own."
    )
    if draws is not None:
        note += (
            f" The attack that knows a defence averages {draws.draws} of its draws, and succeeds where most of "
            f"{draws.fresh} fresh draws are fooled. A defence that draws nothing has none such: the attack sees all."
        )
    if evading:
        note += (
            " Of a service that remembers queries, the attack that knows it is the worse of two: one searches on the "
            "undefended victim, or another model, and one asks about texts in disguise."
        )
    return table("Accuracy", head_of(trial), [cells_of(row) for row in rows], note)


def _knowing(found: DefenceAttacked | None, row: DefenceRow) -> str:
    """Return accuracy under an adaptive attack, or why it is missing; older records tell randomness by passes alone."""
    if found is not None:
        return str(found.accuracy)
    steady = row.passes <= 1 if row.steady is None else row.steady
    return "draws nothing" if steady else "not made"


def _effort(rows: Sequence[DefenceRow]) -> Markup:
    names = ("Defence", "Queries a text, median", "Words changed", "Queries, knowing it", "Words changed, knowing it")
    shown = [(row.name, *_spent(row.active), *_spent(row.adaptive)) for row in rows]
    return table("What it takes", names, shown, "A query of the attack asks the defence once.")


def _spent(found: DefenceAttacked | None) -> tuple[str, str]:
    return (DASH, DASH) if found is None else (number(found.asked.median), share(found.changed.mean))


def show_cost(cost: float | None) -> str:
    return DASH if cost is None else f"{cost:.2f}x"


def _list_checks(rows: Sequence[DefenceRow]) -> Markup:
    return bullets("", (join(tag("strong", row.name), ": ", describe_checks(row)) for row in rows if row.checked))


def describe_checks(row: DefenceRow) -> str:
    """Describe in words whether attacks contradict the certificates of a defence."""
    found, proof = row.checked, read_certified(row)
    assert found is not None
    assert proof is not None
    kind = "any number of changes" if row.certified and proof == row.certified.every else "one changed word"
    held = f"{found.contradicted} contradict it" if found.contradicted else "none contradicts it"
    against = f"; an attack that makes no other changes leaves {found.within.accuracy}" if found.within else ""
    return (
        f"right and sure under {kind}: {proof}{against}. {found.inside} attacked texts lie inside the certificate of "
        f"their original, {found.flipped} of them fooled the few copies that voted under attack; with as many copies "
        f"as made the certificate, {held}."
    )


def terminal(trial: DefencesRecord) -> str:
    """Return the test as text for the terminal."""
    rows = [("defence", "clean", "under attack", "knowing it", "transferred", "under the worst", "time", "passes")]
    for row in trial.rows:
        knowing, carried = _knowing(row.adaptive, row), text_of(row.transferred)
        under = str(row.active.accuracy), knowing, carried, str(row.worst)
        rows.append((row.name, str(row.clean), *under, show_cost(row.cost), f"{row.passes:g}"))
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, wide, strict=True)).rstrip() for row in rows]
    for place, attack in enumerate(trial.attacks[1:]):
        both = [(row, row.others[place]) for row in trial.rows]
        lines += ["", f"{attack}:"]
        lines += [
            f"  {row.name}: under attack {one.active.accuracy}, knowing it {_knowing(one.adaptive, row)}, transferred "
            f"{text_of(one.transferred)}"
            for row, one in both
        ]
    lines += ["", *(f"{row.name}: {row.verdict}" for row in trial.rows if row.name != "none")]
    lines += [f"{row.name}: {describe_checks(row)}" for row in trial.rows if row.checked]
    return "\n".join(lines)


SECTION = Section(rank=40, title=TITLE, body=trials, terminal=terminal)
