"""malaprop audit: a suite of attacks, a report card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.cli import options as o

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.cli.work import Work

VICTIMS = "LSTM-W-GloVe-1,CNN-W-GloVe-1,BERT"
_TESTS = "audit --defences"
_BELONGS = dict.fromkeys(
    ("hardened", "premade", "draws", "fresh", "samples", "alpha", "pictures", "layout", "jobs", "set_"), (_TESTS,)
)
ATTACKS = "pwws,textfooler,deepwordbug,typos,homoglyph"


def audit(
    context: typer.Context,
    victim: Annotated[
        str,
        typer.Option(
            help="Victims, separated by commas: folders written by train, zoo names, module:attribute (a function: "
            "list of texts to scores), Hugging Face folders or hub names, sklearn pipelines (.skops)."
        ),
    ] = VICTIMS,
    data: o.Data = "mr",
    n: o.CountOrAll = 100,
    attacks: Annotated[str, typer.Option(help="Recipes, separated by commas: see malaprop list recipes.")] = ATTACKS,
    budget: o.Budget = None,
    goal: o.Goal = None,
    measure: o.Measure = None,
    cache: o.Cache = None,
    defences: Annotated[
        str | None,
        typer.Option(
            help="Defences to test, separated by commas, instead of victims: fuse, five, safer, ranmask, fact, "
            "miyato, hotflip, twin, none, one around another as five(fact), with settings as five:noise=2."
        ),
    ] = None,
    hardened: Annotated[
        list[str] | None,
        typer.Option(help="With --defences: a model that is there already, as fact=FOLDER; may be repeated."),
    ] = None,
    premade: Annotated[
        Path | None,
        typer.Option(help="With --defences: adversarial texts made before, a run folder or a file with text,label."),
    ] = None,
    draws: Annotated[int, typer.Option(help="With --defences: draws that the adaptive attack averages.", min=1)] = 4,
    fresh: Annotated[int, typer.Option(help="With --defences: fresh draws of which most must be fooled.", min=1)] = 9,
    samples: Annotated[
        int, typer.Option(help="With --defences: copies behind a certificate of safer or ranmask; 0 for none.", min=0)
    ] = 1000,
    alpha: Annotated[
        float, typer.Option(help="With --defences: the chance at most that a certificate is wrong.")
    ] = 0.05,
    pictures: Annotated[
        int, typer.Option(help="With --defences and a hardened model: texts whose neighbourhoods are drawn.", min=0)
    ] = 3,
    layout: Annotated[str, typer.Option(help="With --pictures: noisy vectors are laid out by pca or tsne.")] = "pca",
    jobs: Annotated[int, typer.Option(help="With --defences: how many are tested at a time.", min=1)] = 1,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="With --defences: a setting of the training of models that are not there yet."),
    ] = None,
    seed: o.Seed = 0,
    width: o.Width = 256,
    split: o.Split = "auto",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    fields: o.Fields = None,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    engine: o.Engine = "local",
    address: o.Address = None,
    workers: o.Workers = None,
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Attack victims with a suite of recipes and write a report card (report.html).

    Without options it audits three sentiment classifiers on movie reviews, training them first if need be.

    Examples:

      malaprop audit --n 50

      malaprop audit --victim my_model:predict --data reviews.csv --attacks pwws,typos --out runs/mine

      malaprop audit --victim ./my-bert --data hub:rotten_tomatoes --n 200

      malaprop audit --victim BERT --defences none,twin,fuse,five,fact,five(fact),safer,ranmask --n 100
    """
    o.refuse_elsewhere(context, "audit" if defences is None else _TESTS, _BELONGS)
    from malaprop.cli.show import show
    from malaprop.cli.work import Work
    from malaprop.runs.api import goal as as_goal
    from malaprop.runs.api import recipe as make

    fixed = {"budget": budget, "goal": as_goal(goal), "measures": o.listed(measure)}
    made = [make(name, **_light(name)).but(**fixed) for name in dict.fromkeys(o.listed(attacks) or ())]
    texts = o.selection(data, split, n, seed, text=text, label=label, fields=fields, labels=labels)
    work = Work(
        texts, width=width, device=device, cache=cache, quiet=quiet, precision=precision, engine=engine,
        address=address, workers=workers,
    )  # fmt: skip
    victims = o.listed(victim) or ()
    if defences is not None:
        _test(
            work, victims, made if attacks != ATTACKS else [make("textfooler").but(**fixed)], out, resume, json, quiet,
            defences=o.listed(defences) or (), hardened=hardened or (), settings=set_ or [], premade=premade,
            draws=draws, fresh=fresh, samples=samples, alpha=alpha, pictures=pictures, layout=layout, jobs=jobs,
        )  # fmt: skip
        return
    folder = o.out_folder(out, resume, "audit", *(victims if len(victims) == 1 else []), data)
    summary = work.suite(made, victims, folder, resume=resume)
    if not quiet:
        show([folder])
    o.say(f"report card: {summary['report']}", quiet)
    o.finish({"command": "audit", **summary}, json)


def _test(
    work: Work,
    victims: Sequence[str],
    attacks: Sequence[Attack],
    out: Path | None,
    resume: bool,
    json: bool,
    quiet: bool,
    *,
    defences: tuple[str, ...],
    hardened: Sequence[str],
    settings: list[str],
    **how: Any,
) -> None:
    """The defence test in the place of the suite."""
    from malaprop.cli.defences import Test
    from malaprop.core.errors import SettingError
    from malaprop.core.settings import overrides
    from malaprop.defences.stock import folders, given
    from malaprop.reports.defences import terminal
    from malaprop.reports.page import write_report

    chosen = victims if ",".join(victims) != VICTIMS else victims[:1]
    if len(chosen) != 1 or len(attacks) != 1:
        raise SettingError("--defences tests one victim under one attack; name one --victim and one of --attacks")
    if work.engine != "local":
        raise SettingError("--defences runs on this machine; leave out --engine")
    names, inline = given(defences)
    folder = o.out_folder(out, resume, "defences", chosen[0], work.texts.data)
    record = Test(
        work=work,
        attack=attacks[0],
        root=folder,
        victim=chosen[0],
        defences=names,
        hardened=folders((*inline, *hardened)),
        settings=overrides(settings),
        **how,
    ).run()
    report = write_report([folder], folder / "report.html")
    if not quiet:
        print(terminal(record))
    o.say(f"report: {report}", quiet)
    rows = {row.name: row.summary() for row in record.rows}
    o.finish({"command": "audit", "out": str(folder), "report": str(report), "defences": rows}, json)


def _light(name: str) -> dict[str, Any]:
    """Settings for recipes that ask tens of thousands of queries a text, so that a suite ends the same day."""
    if name == "random":
        return {"trials": 1000, "stop": True}
    return {"vocabulary": 2000} if name.endswith(("-gr", "-ec")) else {}
