"""What a kind of record gives to a report: a part of the page, and the same figures for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop.frame.report.markup import Markup


def _silent(_: Sequence[Any]) -> Markup | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One kind of record on the page.

    `rank` is its place: sections below `RUNS` stand above the runs. `body` shows all records of the kind, `terminal`
    one of them, and the first section with a `headline` leads the page. A page that holds nothing else takes `title`.
    """

    rank: int
    title: str
    body: Callable[[Sequence[Any]], Markup]
    terminal: Callable[[Any], str]
    headline: Callable[[Sequence[Any]], Markup | None] = _silent


RUNS = 20  # the rank of the runs themselves
