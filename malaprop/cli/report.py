"""malaprop report: write the HTML report again, from records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.core.errors import RecordError
from malaprop.core.files import write_whole
from malaprop.frame.command import options as o

if TYPE_CHECKING:
    from malaprop.frame.report.page import Runs


_EXPORT = (
    "Write the adversarial texts to this new folder. It is a dataset that the Hugging Face datasets library can load, "
    "with a dataset card."
)
_PARQUET = (
    "Write all outcomes as a table to this new folder. Parquet files of 100,000 rows, for DuckDB, pandas or Spark; it "
    "needs malaprop[parquet]."
)
_AGAINST = (
    "An earlier folder to compare with. Such as the runs before hardening: the report lists the texts that have become "
    "robust and those that have become vulnerable."
)


def report(  # noqa: PLR0913 - users set them by name
    folders: Annotated[list[Path], typer.Argument(help="Run folders, or folders above them.")],
    out: Annotated[
        Path | None, typer.Option(help="The HTML file to write. Default: report.html in the first folder.")
    ] = None,
    export: Annotated[Path | None, typer.Option(help=_EXPORT)] = None,
    parquet: Annotated[Path | None, typer.Option(help=_PARQUET)] = None,
    card: Annotated[
        Path | None, typer.Option(help="Write a section for a model card. Markdown, to this file; - prints it.")
    ] = None,
    against: Annotated[Path | None, typer.Option(help=_AGAINST)] = None,
    leaderboard: Annotated[
        Path | None, typer.Option(help="Write a page that ranks defences. Those tested in the folders, as Markdown.")
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Write the report of all runs and studies in folders again, from their records.

    Examples:

      malaprop report runs/mine

      malaprop report runs/monday runs/tuesday --out both.html

      malaprop report runs/mine --export adversarial --card robustness.md

      malaprop report runs/large --parquet runs/table

      malaprop report runs/hardened --against runs/plain --out both.html

      malaprop report docs/measured/defences --out board.html --leaderboard docs/appendix/leaderboard.md
    """
    from malaprop.frame.report.comparison import compare_runs
    from malaprop.frame.report.page import gather, write_page
    from malaprop.frame.report.terminal import print_summary

    runs, records, faults = gather(folders)
    _check_beside(runs, export, parquet, card)
    ranking = None if leaderboard is None else _rank(records)
    for fault in faults:
        o.say(f"malaprop: left out: {fault}")
    compared = None if against is None else compare_runs(gather([against]).runs, runs)
    name = "report.html" if compared is None else "comparison.html"
    first = None if compared is None else compared.body()
    path = write_page(out or folders[0] / name, runs, records, faults, first=first)
    if not quiet:
        print_summary(runs)
        print("" if compared is None else f"\n{compared.terminal()}\n", end="")
        _print_records(records)
    o.say(f"report: {path}", quiet)
    counts: dict[str, Any] = {"runs": len(runs), "records": len(records), "left_out": list(faults)}
    if compared is not None:
        counts |= {"against": str(against), "compared": compared.to_rows(), "alone": list(compared.alone)}
    _write_beside(runs, export, parquet, card, quiet)
    if leaderboard is not None and ranking is not None:
        o.say(f"leaderboard: {write_whole(leaderboard, ranking)}", quiet)
    o.suggest(f"open {path} in a browser", quiet, json)
    o.finish({"command": "report", "report": str(path), **counts}, json)


def _print_records(records: Sequence[Any]) -> None:
    from malaprop.frame.report.page import sections

    for section, held in sections(records):
        for record in held:
            print(f"\n{section.title}\n\n{section.terminal(record)}")


def _rank(records: Sequence[Any]) -> str:
    """Return the page that ranks defences, by data and model; raise without defence tests."""
    from malaprop.frame.rooms import added, load

    ranked = [load(place)(records) for place in added("rankings").values()]
    if not any(ranked):
        raise RecordError("--leaderboard needs defence tests, these folders hold none; run malaprop study defences")
    return "".join(ranked)


def _check_beside(runs: Runs, export: Path | None, parquet: Path | None, card: Path | None) -> None:
    """Raise if what is wanted beside the report cannot be made: without runs, or in a folder that holds something."""
    from malaprop.frame.report.export import check_new

    if not runs and (export, parquet, card) != (None, None, None):
        raise RecordError(
            "--export, --parquet and --card need runs, these folders hold none; give a folder that audit wrote"
        )
    for folder in filter(None, (export, parquet)):
        check_new(folder)


def _write_beside(runs: Runs, export: Path | None, parquet: Path | None, card: Path | None, quiet: bool) -> None:
    """Write the dataset of adversarial texts, the table of outcomes and the model card, if their paths are given."""
    if export is None and parquet is None and card is None:
        return
    from malaprop.frame.report.export import model_card, write_export, write_parquet

    if parquet is not None:
        o.say(f"table of outcomes: {write_parquet(runs, parquet)}", quiet)
    if export is not None:
        o.say(f"adversarial texts: {write_export(runs, export)}", quiet)
    if card is not None and str(card) == "-":
        print(model_card(runs), end="")
    elif card is not None:
        o.say(f"section for a model's card: {write_whole(card, model_card(runs))}", quiet)
