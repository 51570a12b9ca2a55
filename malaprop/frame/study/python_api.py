"""Studies in Python: `mp.study`, `mp.run` and `mp.report`.

A study takes the settings of its command as keywords and returns a `Result`. Objects may replace names: a function
for a victim, a list of pairs or a frame for data.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from malaprop.core.errors import SettingError
from malaprop.frame.study.commands import find_study, read_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import Result, conduct


def study(name: str, /, **settings: Any) -> Result:
    """Run a study by its name, as `malaprop study NAME` does, with the command's options as keywords.

    Without `out` it uses a temporary folder, which is removed with the result.

        found = mp.study("oneword", models=["BiLSTM-Attention"], n=50, out="runs/oneword")
        found.show(); found.to_frame(); found.record; found.outcomes
    """
    return conduct(build(find_study(name), {"quiet": True, **settings}))


def run(file: Any, /, **settings: Any) -> Result:
    """Run the study that a TOML file describes; keywords override its settings.

    `mp.run("runs/oneword/study.toml")` resumes an earlier study.
    """
    if not isinstance(file, (str, os.PathLike)):
        came = type(file).__name__
        raise SettingError(f"mp.run takes a file of TOML, got a value of {came}; to run an attack use mp.attack")
    return conduct(read_study(Path(file), settings))


def report(
    folders: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    against: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the HTML report of every run and record at or below the folders, and return its path.

    `against` is a folder of runs on the same texts, as before hardening: the report says which texts newly hold and
    which newly break. Without `out` it is then called comparison.html.
    """
    from malaprop.frame.report.page import write_report

    places = [folders] if isinstance(folders, (str, os.PathLike)) else list(folders)
    if not places:
        raise SettingError("mp.report takes a folder, or several; got none")
    paths = [Path(place) for place in places]
    name = "report.html" if against is None else "comparison.html"
    before = None if against is None else Path(against)
    return write_report(paths, paths[0] / name if out is None else Path(out), against=before)
