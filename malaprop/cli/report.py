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
    """Write the report of all runs and studies below folders again, from their records alone.

    Examples:

      malaprop report runs/mine

      malaprop report runs/monday runs/tuesday --out both.html
    """
    from malaprop.reports.page import gather, sections, write_page
    from malaprop.reports.terminal import print_summary

    runs, records, faults = gather(folders)
    for fault in faults:
        o.say(f"malaprop: left out: {fault}")
    path = write_page(out or folders[0] / "report.html", runs, records, faults)
    if not quiet:
        print_summary(runs)
        for section, held in sections(records):
            for record in held:
                print(f"\n{section.title}\n\n{section.terminal(record)}")
    o.say(f"report: {path}", quiet)
    counts = {"runs": len(runs), "records": len(records), "left_out": list(faults)}
    o.finish({"command": "report", "report": str(path), **counts}, json)
