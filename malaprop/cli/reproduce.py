"""malaprop reproduce: the papers' claims, ours beside theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from malaprop.cli import options as o


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Claims such as U2 or H4, a paper's letter (U, S, N, F, H), or all.")
    ] = None,
    size: Annotated[
        str,
        typer.Option(
            help="small: packaged data, minutes on a CPU; full: real data below MALAPROP_DATA, hours without a GPU."
        ),
    ] = "small",
    read: Annotated[bool, typer.Option("--read", help="Run nothing; read what is in --out.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show the claims and their commands, and run nothing.")] = False,
    jobs: Annotated[int, typer.Option(help="Passed on to commands that work side by side.", min=1)] = 2,
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Put claims of the five papers to the test, and write our figures beside theirs.

    Each claim is read from the record of ordinary commands, which are shown and can be run alone. The same --out goes
    on where it was stopped; what is done is not done again. A step that fails costs the claims that are read from it,
    and the exit code is then 1.

    Examples:

      malaprop reproduce --list

      malaprop reproduce U2 U7 --out runs/claims

      malaprop reproduce all --size full --jobs 8 --out runs/claims
    """
    from malaprop.core.errors import SettingError
    from malaprop.records.store import check_writable
    from malaprop.reports.claims import summary, terminal, write_text
    from malaprop.reports.page import write_page
    from malaprop.reproduce.work import Work, check_size, chosen_of

    check_size(size)
    if list_:
        _show(size, ids or ["all"], jobs, json)
        return
    if not ids:
        raise SettingError("name the claims: U2, a paper's letter, or all; malaprop reproduce --list shows them")
    if read and out is None:
        raise SettingError("--read needs the --out of what was run")
    chosen_of(ids)  # a wrong name should not make a folder
    folder = o.out_folder(out, False, "reproduce", *ids[:3])
    check_writable(folder)
    work = Work(
        root=folder, size=size, run=_run, jobs=jobs, fresh=not read, say=lambda line: o.say(line, quiet)
    )  # fmt: skip
    found = work.claims(ids)
    path = found.write(folder)
    write_text(found, folder / "claims.md")
    page = write_page(folder / "report.html", records=[found])
    if not quiet:
        print(terminal(found))
    o.say(f"record: {path}; page: {page}", quiet)
    rows = {row.id: {"ours": row.ours, "verdict": row.verdict} for row in found.rows}
    o.finish(
        {"command": "reproduce", "out": str(folder), "report": str(page), "size": size, "rows": rows,
         "counts": found.counts, "failed": found.failed, "summary": summary(found)},
        json,
    )  # fmt: skip
    if found.failed:
        o.say(
            f"malaprop: {len(found.failed)} steps failed: {', '.join(found.failed)}; the same command tries them again"
        )
        raise typer.Exit(1)


def _show(size: str, ids: Sequence[str], jobs: int, json: bool) -> None:
    from malaprop.reports.claims import print_list
    from malaprop.reproduce.work import Work

    found = Work(root=Path("OUT"), size=size, run=_run, jobs=jobs).listed(ids)
    print_list(found)
    rows = {row.id: {"claim": row.claim, "paper": row.theirs, "commands": row.commands} for row in found.rows}
    o.finish({"command": "reproduce", "size": size, "rows": rows}, json)


def _run(words: Sequence[str], output: Path) -> str:
    """A command of ours in a process of its own; what it prints goes to a file. Gives why it failed."""
    with output.open("w", encoding="utf-8") as file:
        ended = subprocess.run(  # noqa: S603 - words of our own
            [sys.executable, "-m", "malaprop", *words],
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            check=False,
        )
    if not ended.returncode:
        return ""
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = lines[-1].removeprefix("malaprop: ") if lines else "no word of why"
    return f"{words[0]} ended with {ended.returncode}: {said[:300]}"
