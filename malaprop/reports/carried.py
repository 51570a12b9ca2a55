"""Transfer and ensembles for those who stay in the terminal, and the matrix for other programs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.core.errors import RecordError
from malaprop.records.ensembles import Ensembles
from malaprop.records.transfer import Transfer
from malaprop.reports import ensembles as teams
from malaprop.reports.transfer import factor_rows, speed_line

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST = 12  # models up to which the matrix is printed
_COLUMNS = ("source", "target", "hits", "total", "rate", "low", "high", "right_before", "carried")


def write_matrix(record: Transfer, path: Path) -> Path:
    """One line a pair that was tried; the diagonal names the second as the target."""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            sheet = csv.writer(file)
            sheet.writerow(_COLUMNS)
            for s, source in enumerate(record.models):
                for t, target in enumerate(record.models):
                    if (rate := record.rate(s, t)) is not None:
                        low, high = rate.interval
                        name = target.name if s != t else target.second
                        figures = (rate.hits, rate.total, *(f"{x:.4f}" for x in (rate.value, low, high)))
                        sheet.writerow((source.name, name, *figures, record.before[s][t], record.carried[s][t]))
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror or error}; choose another --out") from None
    return path


def show_transfer(record: Transfer, console: Console | None = None) -> None:
    """Matrix, where it fits, factors, classes and speed."""
    from rich.console import Console as Made

    out = console or Made()
    if len(record.models) <= _WIDEST:
        names = [f"[{at}]" for at in range(1, len(record.models) + 1)]
        _print(
            out,
            "share that the target (across) gets wrong; diagonal: the same model from another seed",
            ("source", *names, "tried"),
            [
                (f"[{s + 1}] {model.name}", *(_rate(record, s, t) for t in range(len(record.models))), str(model.drawn))
                for s, model in enumerate(record.models)
            ],
        )
    if record.factors:
        head = ("factor", "difference to base (95%)", "noise", "pairs")
        rows = [row[: len(head)] for row in factor_rows(record.factors)]
        _print(out, "what decides whether an attack carries over", head, rows)
        if record.order_share is not None:
            share = f"{100 * record.order_share:.1f}% of resamples"
            line = f"order here: {' > '.join(record.order)}; the paper's (input form first) in {share}"
            out.print(line, markup=False, highlight=False)
    for table in record.tables:
        cells = [["n/a" if cell is None else f"{cell.value:.3f}" for cell in row] for row in table.cells]
        _print(
            out,
            f"by {table.name}: sources down, targets across",
            ("source", *table.classes),
            [(name, *row) for name, row in zip(table.classes, cells, strict=True)],
        )
    for name, mean in (("base rates", record.base), ("all pairs of two models", record.pairs)):
        if mean is not None:
            out.print(f"mean of {name}: {mean}", markup=False, highlight=False)
    for line in (*record.notes, speed_line(record.speed)):
        if line:
            out.print(line, markup=False, highlight=False)


def _rate(record: Transfer, s: int, t: int) -> str:
    rate = record.rate(s, t)
    return "-" if rate is None else f"{rate.value:.2f}"


def show_ensembles(record: Ensembles, console: Console | None = None) -> None:
    """A line an ensemble, and the two lines of reference."""
    from rich.console import Console as Made

    out = console or Made()
    held = ("on what no choice saw",) if record.unseen else ()
    _print(
        out,
        "ensembles, attacked and tried on the models outside",
        ("size, chosen by", "fitness", "broken", "tried", "rate outside (95%)", *held),
        [(row[0], *row[2:6], *row[7:]) for row in teams.rows(record)],
    )
    for row in teams.rows(record):
        out.print(f"{row[0]}: {row[1]}", markup=False, highlight=False)
    for name, mean in (("base rates", record.upper), ("all pairs of two models", record.lower)):
        if mean is not None:
            out.print(f"mean of {name}: {mean}", markup=False, highlight=False)
    for contrast in record.contrasts:
        ahead = "{:+.3f} ({:+.3f} to {:+.3f})".format(*astuple(contrast.difference))
        line = f"size {contrast.size}: {contrast.first} over {contrast.second} {ahead}"
        out.print(f"{line}, on {contrast.targets} models outside both", markup=False, highlight=False)
    for note in record.notes:
        out.print(note, markup=False, highlight=False)


def _print(out: Console, title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    table = Table(title=escape(title), box=SIMPLE_HEAD, title_justify="left")
    for place, name in enumerate(names):
        table.add_column(escape(name), justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)
