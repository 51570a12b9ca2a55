"""A progress bar on a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from malaprop.records.outcome import Outcome

Seen = Callable[[Outcome], None]


@contextmanager
def outcomes_bar(what: str, total: int, quiet: bool) -> Iterator[Seen]:
    """Gives a function to call with each outcome; the bar shows how many fell so far."""
    if quiet or not sys.stderr.isatty():
        yield lambda outcome: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[fell]} broken"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    fell = 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, fell=0)

        def seen(outcome: Outcome) -> None:
            nonlocal fell
            fell += outcome.status == "success"
            bar.update(task, advance=1, fell=fell)

        yield seen
