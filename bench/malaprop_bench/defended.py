"""The table of README that says what the best defence of each model leaves, from the records of the leaderboard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from malaprop.records.codec import decode
from malaprop.records.defences import DefencesRecord
from malaprop.records.summary import Rate
from malaprop.reports.defenceboard import Board, rank

HEAD = ("texts", "model", "accuracy", "under the worst attack", "best defence", "accuracy", "under the worst attack")
_SETTING = re.compile(r":\w+=[^:()]+")


def rows(records: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Of each data and model the test whose best defence leaves most; all figures are of that test's texts."""
    board = Board([decode(DefencesRecord, {k: v for k, v in held.items() if k != "format"}) for held in records])
    for data, model in product(board.data, board.models):
        if not (tests := board.held.get((data, model))):
            continue
        test = max(tests, key=lambda one: rank(one)[0].worst.value)
        best, plain = rank(test)[0], next(row for row in test.rows if row.name == "none")
        name = f"`{_SETTING.sub('', best.name)}`"
        yield [data, model, _show(plain.clean), _show(plain.worst), name, _show(best.clean), str(best.worst)]


def _show(rate: Rate) -> str:
    return f"{rate.value:.1%}"
