"""A defence test in the report and in the terminal, from its record alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from malaprop.features.defending import certified_report as certified
from malaprop.features.defending.evaluation_record import AttackedDefence, DefenceAttacked, DefenceRow, DefencesRecord
from malaprop.features.defending.neighbourhood_report import closely
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.scatter import RateDot, dots, key
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, bullets, card, number, panel, panels, share, table, text_of

TITLE = "Defence test"
KINDS = (
    *("No attack", "Made samples", "Attack", "Attack that knows it"),
    *("Attack within the certificate's changes", "Certified", "Transferred attack"),
)


def trials(found: Sequence[DefencesRecord]) -> Markup:
    """Return a card for each test, after the leaderboard where there are several; empty where there are none."""
    from malaprop.features.defending.leaderboard import show

    return join(show(found), *(_card(trial, number) for number, trial in enumerate(found)))


def _card(trial: DefencesRecord, place: int) -> Markup:
    lead = (
        f"{trial.victim} on {trial.data}: {' and '.join(trial.attacks)} on {trial.texts:,} texts, each defence beside "
        "none. "
        f"Made samples: {trial.premade}, {_count_made(trial):,} of them. Rates are accuracies with 95% intervals."
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
    return ("Defence", "No attack", "Made samples", *under, "Under the worst", "Gain", "Certified", "Time", "Passes")


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
        "right under every attack. The gain is that over no defence. Time is a multiple of the victim's own."
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
