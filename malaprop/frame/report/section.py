"""The section of a report that shows one kind of record: on the page, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop.frame.report.markup import Markup


def _silent(_: Sequence[Any]) -> Markup | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The functions that show one kind of record.

    Sections are sorted by `rank`; those with a rank below `RUNS` come before the runs. `body` shows all records of the
    kind, `terminal` one of them. The first `headline` leads the page; a page of this section alone has its `title`.
    `figure` is drawn on the first page of a report on runs, in place of the bars of accuracy.
    """

    rank: int
    title: str
    body: Callable[[Sequence[Any]], Markup]
    terminal: Callable[[Any], str]
    headline: Callable[[Sequence[Any]], Markup | None] = _silent
    figure: Callable[[Sequence[Any]], Markup | None] = _silent


RUNS = 20  # the rank of the runs themselves
