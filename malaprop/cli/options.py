"""Options that several commands share, and how a command speaks."""

from __future__ import annotations

import json as _json
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.core.errors import SettingError
from malaprop.core.leftovers import clear_leftovers

if TYPE_CHECKING:
    from malaprop.studies.selection import Selection

Data = Annotated[
    str,
    typer.Option(
        help="mr, imdb, entailment-synthetic, a CSV/TSV/JSONL/Parquet file with text,label (or premise,hypothesis,"
        "label), or hub:NAME."
    ),
]
Count = Annotated[int, typer.Option("--n", help="How many examples, drawn by the seed.", min=1)]


def _count(text: str | int) -> int:
    """A number from 0, where 0 means all of them, or `all`."""
    if str(text).strip().lower() == "all":
        return 0
    if not str(text).strip().isdecimal():
        raise typer.BadParameter(f"expected a number or all, got {text!r}")
    return int(text)


CountOrAll = Annotated[
    int,
    typer.Option("--n", metavar="N", parser=_count, help="How many examples, drawn by the seed; all (or 0) for all."),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same outcomes.", min=0)]
Width = Annotated[int, typer.Option(help="How many examples are attacked side by side; changes only the speed.", min=1)]
Split = Annotated[
    str,
    typer.Option(
        help="The part that is taken: train, validation, test (of a file, as train cuts it) or all. auto: test, and of "
        "a file all of it where no victim was trained on that very file."
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option("--text", help="Name of the text column, if it is not 'text'; of pairs both, as question1,question2."),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels", help="The victim's labels in the order of its scores, by the names that the data has, as no,yes."
    ),
]
LabelColumn = Annotated[str | None, typer.Option("--label", help="Name of the label column, if it is not 'label'.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
Out = Annotated[Path | None, typer.Option(help="Folder for what is written; made if it is missing.")]
Json = Annotated[bool, typer.Option("--json", help="Make the last line of standard output one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress and no table.")]


def selection(
    data: str, split: str, n: int, seed: int, *, text: str | None, label: str | None, fields: str | None = None,
    labels: str | None = None,
) -> Selection:  # fmt: skip
    """Which examples the options ask for."""
    from malaprop.studies.selection import Selection

    return Selection(
        data=data, split=split, n=n, seed=seed, text=text, label=label, fields=fields, labels=split_names(labels) or ()
    )


def tell(notes: Iterable[str], quiet: bool = False) -> None:
    """What the reader of the data had to decide, a line each."""
    for note in notes:
        say(note, quiet)


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; None stays None."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def out_folder(out: Path | None, resume: bool, *names: str) -> Path:
    """The folder asked for, or a new one under runs/ that says what and when."""
    if out is not None:
        if out.exists() and not out.is_dir():
            raise SettingError(f"--out {out} is a file; give a folder")
        clear_leftovers(out, "run.toml", "report.html")
        return out
    if resume:
        raise SettingError("--resume needs the --out folder of the run that it resumes")
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / "-".join([*map(slug, names), stamp])


def slug(name: str) -> str:
    """A name that can be a folder's, and a part of an address: a # would end it there."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
    return kept[-60:] or "unnamed"


def finish(summary: Mapping[str, Any], json: bool) -> None:
    """The last line for machines, where asked for."""
    if json:
        print(_json.dumps(summary, ensure_ascii=False))
        sys.stdout.flush()


def say(line: str, quiet: bool = False) -> None:
    """One line for people; standard output is for results."""
    if not quiet:
        print(line, file=sys.stderr)
