"""A rate with its count, short enough for a cell."""

from __future__ import annotations

from malaprop.frame.records.summary import Rate
from malaprop.frame.report.tables import DASH


def short(rate: Rate | None) -> str:
    if rate is None or not rate.total:
        return DASH
    return f"{100 * rate.value:.1f}% ({rate.hits}/{rate.total})" if rate.shown else f"{DASH} ({rate.hits}/{rate.total})"
