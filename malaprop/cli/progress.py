"""A progress bar on a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Ended(Protocol):
    """Anything that ended in a status."""

    @property
    def status(self) -> str: ...


@contextmanager
def count_bar(what: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with how many more are done."""
    with _bar(what, total, quiet) as move:
        yield lambda more: move(advance=more)


@contextmanager
def found_bar(what: str, total: int, quiet: bool) -> Iterator[Callable[[Ended], None]]:
    """Gives a function to call with each that ended; the bar shows how many of them in success."""
    found = 0
    with _bar(what, total, quiet, "found") as move:

        def seen(ended: Ended) -> None:
            nonlocal found
            found += ended.status == "success"
            move(advance=1, found=found)

        yield seen


@contextmanager
def _bar(what: str, total: int, quiet: bool, word: str = "") -> Iterator[Callable[..., None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda **_: None
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

    told: list[Any] = [TextColumn(f"{{task.fields[found]}} {word}")] if word else []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *told)
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=total, found=0)
        yield lambda **more: bar.update(task, **more)
