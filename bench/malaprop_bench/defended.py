"""The table of the best defence of each transformer, from the records of the leaderboard."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from malaprop.core.codec import decode
from malaprop.features.defending.evaluation_record import DefencesRecord
from malaprop.features.defending.leaderboard import DATA, place_of, rank
from malaprop.frame.report.tables import DASH
from malaprop_bench import table

MODELS = ("MiniLM", "MPNet", "LSTM", "CNN")
LARGE = MODELS[:2]
SPELT = "deepwordbug"
NONE = "none helps"  # no defence has a higher worst-case accuracy than the undefended model
ROWS = (
    "", "accuracy", "worst-case accuracy", "best defence", "accuracy with it", "worst-case accuracy with it",
    "gain, points (95% interval)",
)  # fmt: skip
_SETTING = re.compile(r":\w+=[^:()]+")


def table_lines(
    records: Sequence[Mapping[str, Any]], *, validity: str = "paper", models: Sequence[str] = LARGE, spelt: bool = False
) -> list[str]:
    """Return a column for each model and dataset: the test whose best defence has the highest worst-case accuracy.

    All figures of a column are of that test's texts. A model that was tested without a defence has no column. Only
    tests at one validity are among them, and of valid ones those that misspell words (`spelt`), or the others. Where
    no defence is above the undefended model, the column says so and has no figures of a defence.
    """
    every = [decode(DefencesRecord, {k: v for k, v in held.items() if k != "format"}) for held in records]
    known = [test for test in every if test.validity == validity]
    if validity != "paper":
        known = [test for test in known if (SPELT in test.attacks) == spelt]
    columns: list[Sequence[str]] = [ROWS]
    for data, model in product(dict.fromkeys([*DATA, *(place_of(test)[0] for test in known)]), models):
        tests = [test for test in known if place_of(test) == (data, model) and len(test.rows) > 1]
        if not tests:
            continue
        test = max(tests, key=lambda one: rank(one)[0].worst.value)
        columns.append([f"{model}, {data}", *_cells(test)])
    head, *rows = ([*row] for row in zip(*columns, strict=True))
    return table.lines(head, rows)


def _cells(test: DefencesRecord) -> list[str]:
    """Return the figures of a test: the undefended model, the best defence and its gain, or that none helps."""
    plain = next(row for row in test.rows if row.name == "none")
    best = next(row for row in rank(test) if row is not plain)
    alone, defended = ([f"{row.clean.value:.1%}", f"{row.worst.value:.1%}"] for row in (plain, best))
    if best.worst.value <= plain.worst.value:
        return [*alone, NONE, DASH, DASH, DASH]
    return [*alone, f"`{_SETTING.sub('', best.name)}`", *defended, str(best.kept).replace(" points", "")]
