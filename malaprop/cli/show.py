"""The summary of run folders on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def show(folders: Iterable[Path], *, below: bool = True) -> None:
    """A table for each victim found at the folders, or below them too."""
    from malaprop.records.run import Run
    from malaprop.records.store import find_runs, outcomes_of
    from malaprop.reports.terminal import print_summary

    print_summary([(Run.read(folder), outcomes_of(folder)) for folder in (find_runs(folders) if below else folders)])
