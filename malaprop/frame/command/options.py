"""Options that several commands share, and functions for output folders, messages and the --json line."""

from __future__ import annotations

import json as _json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from malaprop.core.errors import SettingError
from malaprop.core.files import remove_partial_files
from malaprop.frame.study.study import View
from malaprop.frame.study.vocabulary import look_up

Seed = Annotated[int, typer.Option(help=look_up("seed").help, min=0)]
Json = Annotated[bool, typer.Option("--json", help=look_up("json").help)]
Quiet = Annotated[bool, typer.Option("--quiet", help=look_up("quiet").help)]


def tell(notes: Iterable[str], quiet: bool = False) -> None:
    """Print the notes to standard error, one line each."""
    for note in notes:
        say(note, quiet)


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Split names separated by commas; None stays None."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def out_folder(out: Path | None, *names: str) -> Path:
    """Return the requested folder, or a new one under runs/ named after its content and the time."""
    if out is not None:
        if out.exists() and not out.is_dir():
            raise SettingError(f"--out {out} is a file; give a folder")
        remove_partial_files(out, "run.toml", "report.html")
        return out
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / "-".join([*map(slug, names), stamp])


def slug(name: str) -> str:
    """Return the name with unsafe characters replaced, fit for a folder and an address, where # would end it."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
    return kept[-60:] or "unnamed"


def finish(summary: Mapping[str, Any], json: bool) -> None:
    """Print the summary as one line of JSON if `json` is set."""
    if json:
        print(_json.dumps(summary, ensure_ascii=False))
        sys.stdout.flush()


def say(line: str, quiet: bool = False) -> None:
    """Print one line for people to standard error; standard output is for results."""
    if not quiet:
        print(line, file=sys.stderr)


def suggest(next: str, quiet: bool, json: bool) -> None:
    """Print what to do next as the last line of standard output, unless --quiet or --json is given."""
    if next and not (quiet or json):
        print(f"next: {next}", flush=True)


def announce(view: View) -> None:
    """Append to the job summary of GitHub Actions, and print annotations in the form that its runner reads."""
    if (page := os.environ.get("GITHUB_STEP_SUMMARY")) and view.markdown:
        with Path(page).open("a", encoding="utf-8") as file:
            file.write(view.markdown)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for level, title, message in view.annotations:
            print(f"::{level} title={_escape(title, more=True)}::{_escape(message)}", flush=True)


def _escape(text: str, *, more: bool = False) -> str:
    """Escape characters that would end the line or begin another workflow command."""
    out = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return out.replace(":", "%3A").replace(",", "%2C") if more else out
