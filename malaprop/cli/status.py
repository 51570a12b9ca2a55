"""malaprop run runs the study that a TOML file describes; malaprop status shows how far the runs in a folder are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from malaprop.frame.command import options as o
from malaprop.frame.command.settings_command import perform


def run(
    file: Annotated[Path, typer.Argument(help="A study.toml, written by hand or by an earlier study.")],
    settings: Annotated[
        list[str] | None, typer.Argument(help="Settings that replace those of the file, as name=value.")
    ] = None,
) -> None:
    """Run the study that a TOML file describes.

    The file says command = "study oneword" and has the settings of that command by their names. The study.toml that an
    earlier study wrote in its folder resumes that study.

    Examples:

      malaprop run study.toml

      malaprop run runs/look/study.toml jobs=4
    """
    from malaprop.core.settings import overrides
    from malaprop.frame.study.commands import read_study

    perform(read_study(file, overrides(settings or [])))


def status(
    folders: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders above them.")],
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Show which studies, runs and records folders hold, and how far the runs are; change nothing.

    Examples:

      malaprop status runs/mine

      malaprop status runs --json
    """
    from malaprop.frame.records.folder_contents import list_contents
    from malaprop.frame.report.tables import lines_of

    held = list_contents(folders)
    if not quiet:
        for folder, command in held.studies:
            print(f"study: {command}, in {folder}" if command else f"study in {folder} (study.toml names no command)")
        runs = [
            (
                _place(run.folder, folders),
                run.fault or run.name,
                f"{run.done:,} {run.what}",
                _count_left(run),
            )
            for run in held.runs
        ]
        records = [(_place(one.folder, folders), one.kind, one.fault or one.about) for one in held.records]
        if runs:
            print(lines_of("", ("run folder", "attack, victim and data", "done", "left"), runs, boxed=False))
        if records:
            print(lines_of("", ("folder", "kind of record", "about"), records, boxed=False))
        if not (held.studies or runs or records):
            where = ", ".join(map(str, folders))
            print(f"no studies, runs or records in {where}; give a folder that a command wrote with --out")
        elif held.left:
            print(f"{held.left:,} examples are left; give the same command again, with {_need(held)}the same --out")
    if held.studies:
        o.suggest(_resume(held) or f"malaprop report {' '.join(map(str, folders))}", quiet, json)
    o.finish({"command": "status", **_summary(held)}, json)


def _count_left(run: Any) -> str:
    return f"{run.left:,} ({run.state})" if run.state and run.left else f"{run.left:,}"


def _need(held: Any) -> str:
    """Return what else the commands need to go on: a higher limit, where one ended a run."""
    limits = dict.fromkeys(run.stopped.split()[0] for run in held.runs if run.left and run.stopped)
    return f"a higher {' and '.join(limits)} and " if limits else ""


def _resume(held: Any) -> str:
    """Return the command that resumes the first study with examples left; empty if there is none."""
    for run in held.runs:
        above = [folder for folder, _ in held.studies if run.folder.is_relative_to(folder)] if run.left else []
        if above:
            again = f"malaprop run {max(above, key=lambda folder: len(folder.parts)) / 'study.toml'}"
            if not run.stopped:
                return again
            limit, _, most = run.stopped.partition(" ")
            return f"{again} {limit.strip('-').replace('-', '_')}=NUMBER, with more than {most}"
    return ""


def _place(folder: Path, folders: list[Path]) -> str:
    """Return the folder's path, relative to the requested folder if there is only one."""
    return str(folder.relative_to(folders[0])) if len(folders) == 1 else str(folder)


def _summary(held: Any) -> dict[str, Any]:
    return {
        "studies": [{"folder": str(folder), "study": command} for folder, command in held.studies],
        "runs": [
            {"folder": str(r.folder), "run": r.name, "lines": r.what, "done": r.done, "wanted": r.wanted,
             "left": r.left, "state": r.state or None, "fault": r.fault or None}
            for r in held.runs
        ],
        "records": [
            {"folder": str(one.folder), "kind": one.kind, "fault": one.fault or None} for one in held.records
        ],
        "left": held.left,
    }  # fmt: skip
