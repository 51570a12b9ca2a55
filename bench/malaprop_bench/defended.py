"""The table of the best defence of each transformer, from the records of the leaderboard."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from malaprop.core.codec import decode
from malaprop.features.defending.evaluation_record import DefencesRecord
from malaprop.features.defending.leaderboard import DATA, place_of, rank
from malaprop_bench import table

MODELS = ("MiniLM", "MPNet", "LSTM", "CNN")
LARGE = MODELS[:2]
SPELT = "deepwordbug"
ROWS = ("", "accuracy", "under the worst attack", "best defence", "accuracy with it", "under attack with it")
_SETTING = re.compile(r":\w+=[^:()]+")


def table_lines(
    records: Sequence[Mapping[str, Any]], *, validity: str = "paper", models: Sequence[str] = LARGE, spelt: bool = False
) -> list[str]:
    """Return a column for each model and dataset: the test whose best defence has the highest accuracy under attack.

    All figures of a column are of that test's texts. A model that was tested without a defence has no column. Only
    tests at one validity are among them, and of valid ones those that misspell words (`spelt`), or the others.
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
        plain = next(row for row in test.rows if row.name == "none")
        best = next(row for row in rank(test) if row is not plain)
        rates = [f"{rate.value:.1%}" for rate in (plain.clean, plain.worst, best.clean, best.worst)]
        columns.append([f"{model}, {data}", *rates[:2], f"`{_SETTING.sub('', best.name)}`", *rates[2:]])
    head, *rows = ([*row] for row in zip(*columns, strict=True))
    return table.lines(head, rows)
