"""A progress bar on a terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(title: str, quiet: bool) -> Iterator[Callable[[float, float], None]]:
    """Shows a share from 0 to 1 and a loss; where there is no terminal, nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda progress, loss: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0, loss=math.nan)
        yield lambda share, loss: progress.update(task, completed=share, loss=loss)
