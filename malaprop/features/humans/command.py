"""malaprop humans: let people judge adversarial texts, and score their answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from malaprop.frame.command import options as o
from malaprop.frame.command.settings_command import SettingsCommand

if TYPE_CHECKING:
    from malaprop.features.humans.export import ExportSummary

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
StudyFile = Annotated[Path, typer.Argument(help="A study file, written by humans export.")]


@app.callback()
def humans() -> None:
    """Human evaluation: export a study from attack runs, serve it, import answers, score them."""


@app.command("export", cls=SettingsCommand)
def export(  # noqa: PLR0913 - users set them by name
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders above them.")],
    ask: Annotated[
        str | None,
        typer.Option(
            help="The questions, such as label. readability, similarity and more-natural (which of two), label, "
            "naturalness and meaning (1 to 5); separated by commas. Without it: readability, label, similarity "
            "and naturalness, or of one recipe label and naturalness; of runs of malaprop natural naturalness, "
            "meaning, similarity, more-natural."
        ),
    ] = None,
    items: Annotated[int, typer.Option(help="Most items of each question. Checks aside.", min=1)] = 40,
    raters: Annotated[int, typer.Option(help="How many people judge each item.", min=1)] = 3,
    per_rater: Annotated[
        int | None,
        typer.Option(help="Most items for one person. Checks aside; more people share the work.", min=1),
    ] = None,
    checks: Annotated[int, typer.Option(help="Attention checks of each question.", min=0)] = 2,
    seed: o.Seed = 0,
    out: Annotated[Path, typer.Option(help="The study file; must not exist yet.")] = Path("study.db"),
    csv: Annotated[Path | None, typer.Option(help="Also write the tasks as CSV, for a crowd platform.")] = None,
    json_file: Annotated[Path | None, typer.Option(help="Also write the tasks as JSON.")] = None,
    label_studio: Annotated[
        Path | None,
        typer.Option(help="Also write the tasks for Label Studio. Its interface stands beside them (.xml)."),
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Make a study from runs of attack or natural, of one or several recipes or victims; of texts or of images.

    Examples:

      malaprop humans export runs/first --ask readability,label,similarity,naturalness --raters 3 --out study.db

      malaprop humans export runs/pwws --ask label --items 100 --per-rater 30 --csv tasks.csv --out study.db

      malaprop humans export runs/natural-compare --items 20 --raters 13 --out digits.db
    """
    from malaprop.features.humans import crowd as crowd
    from malaprop.features.humans.export import Design
    from malaprop.features.humans.export import export as work
    from malaprop.features.humans.study import RatingStudy

    design = Design(ask=o.split_names(ask), items=items, raters=raters, per_rater=per_rater, checks=checks, seed=seed)
    summary = work(runs, out, design)
    written = {}
    with RatingStudy(out) as study:
        for name, path, write in (
            ("csv", csv, crowd.write_csv),
            ("json_file", json_file, crowd.write_json),
            ("label_studio", label_studio, crowd.write_label_studio),
        ):
            if path is not None:
                written[name] = str(write(study, path))
    _describe_export(summary, out, quiet=quiet)
    sizes = {"raters": len(summary.raters), "turns": list(summary.turns), "checks": summary.checks}
    whole = {"out": str(out), **sizes, "ask": list(summary.ask), "items": summary.counts, **written}
    o.suggest(f"malaprop humans serve {out}", quiet, json)
    o.finish({"command": "humans export", **whole}, json)


def _describe_export(summary: ExportSummary, out: Path, *, quiet: bool) -> None:
    if not quiet:
        for question, counts in summary.counts.items():
            print(f"{question}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    if summary.long:
        o.say(f"left out: {summary.long} outcomes with texts too long to judge", quiet)
    least, most = min(summary.turns), max(summary.turns)
    spread = f"{least} to {most}" if least < most else str(least)
    o.say(f"{len(summary.raters)} raters with {spread} items each, of which {summary.checks} are checks", quiet)
    o.say(f"study: {out}; next: malaprop humans serve {out}", quiet)


@app.command("serve", cls=SettingsCommand)
def serve(
    study: StudyFile,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8430,
    expose: Annotated[
        bool, typer.Option("--expose", help="Let other machines in. On all addresses unless --host names one.")
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(help="The address that raters use, for the links. https://study.example.org behind a proxy."),
    ] = None,
    links: Annotated[Path | None, typer.Option(help="Write the personal links to this CSV file.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no links and no token.")] = False,
) -> None:
    """Serve a study in the browser, until stopped with Ctrl-C.

    Prints a personal link for each rater, and the token of the page that shows progress.

    Examples:

      malaprop humans serve study.db

      malaprop humans serve study.db --expose --port 8080 --links links.csv
    """
    from malaprop.frame.web import need_web

    need_web()
    from malaprop.features.humans.server import host_study

    if expose and host == "127.0.0.1":
        host = "0.0.0.0"  # noqa: S104 - what --expose asks for
    host_study(study, host=host, port=port, expose=expose, links=links, url=url, secrets=not quiet, say=o.say)


@app.command("import", cls=SettingsCommand)
def import_(
    study: StudyFile,
    answers: Annotated[
        Path, typer.Argument(help="A CSV or JSON file of answers. With task, rater and answer; or Label Studio's JSON.")
    ],
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Import answers from a crowd platform into the study: either the whole file or none of it.

    Examples:

      malaprop humans import study.db answers.csv

      malaprop humans import study.db label-studio-export.json
    """
    from malaprop.features.humans.crowd import import_answers

    brought = import_answers(study, answers)
    o.say(f"{brought.answers} answers by {brought.raters} raters are in {study}", quiet)
    o.suggest(f"malaprop humans score {study}", quiet, json)
    o.finish({"command": "humans import", "answers": brought.answers, "raters": brought.raters}, json)


@app.command("score", cls=SettingsCommand)
def score(
    study: StudyFile,
    pass_mark: Annotated[
        float, typer.Option(help="Checks a rater must pass. As a share. Raters below it do not count.", min=0, max=1)
    ] = 0.7,
    out: Annotated[
        Path | None, typer.Option(help="Folder for humans.json. The study's own if not given; the report looks there.")
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score the answers: human accuracy, readability, closeness, naturalness, agreement, success that counts.

    Examples:

      malaprop humans score study.db

      malaprop humans score study.db --out runs/first && malaprop report runs/first
    """
    from malaprop.features.humans.record import terminal
    from malaprop.features.humans.score import score as work
    from malaprop.features.humans.study import RatingStudy

    with RatingStudy(study) as opened:
        scores = work(opened, pass_mark=pass_mark)
    path = scores.write(study.absolute().parent if out is None else out)
    if not quiet:
        print(terminal(scores))
    o.say(f"scores: {path}", quiet)
    o.suggest(f"malaprop report {path.parent}", quiet, json)
    o.finish({"command": "humans score", "out": str(path), **scores.to_dict()}, json)
