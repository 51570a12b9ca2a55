"""malaprop run: run the study that a TOML file describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from malaprop.frame.command.settings_command import perform


def run(
    file: Annotated[Path, typer.Argument(help="A study.toml, written by hand or by an earlier study.")],
    settings: Annotated[
        list[str] | None, typer.Argument(help="Settings that take the place of the file's, as name=value.")
    ] = None,
) -> None:
    """Run the study that a TOML file describes.

    The file says command = "study oneword" and has the settings of that command by their names. OUT/study.toml of an
    earlier study goes on with what was left undone.

    Examples:

      malaprop run study.toml

      malaprop run runs/look/study.toml jobs=4
    """
    from malaprop.core.settings import overrides
    from malaprop.frame.study.commands import read_study

    perform(read_study(file, overrides(settings or [])))
