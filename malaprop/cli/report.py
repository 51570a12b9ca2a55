"""malaprop report: the HTML report again, from records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from malaprop.cli import options as o


def report(
    folders: Annotated[list[Path], typer.Argument(help="Run folders, or folders above them.")],
    out: Annotated[
        Path | None, typer.Option(help="The HTML file; report.html in the first folder if not given.")
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Write the report of runs again, from their records alone.

    Examples:

      malaprop report runs/mine

      malaprop report runs/monday runs/tuesday --out both.html
    """
    from malaprop.cli.show import show
    from malaprop.reports.html import write_report

    path = write_report(folders, out or folders[0] / "report.html")
    if not quiet:
        show(folders)
    o.say(f"report: {path}", quiet)
    o.finish({"command": "report", "report": str(path)}, json)
