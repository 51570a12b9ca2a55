"""malaprop audit: a suite of attacks, a report card."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o

VICTIMS = "LSTM-W-GloVe-1,CNN-W-GloVe-1,BERT"
ATTACKS = "pwws,textfooler,deepwordbug,typos,homoglyph"


def audit(
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
    seed: o.Seed = 0,
    width: o.Width = 256,
    split: o.Split = "test",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
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
    """
    from malaprop.cli.show import show
    from malaprop.cli.work import Work
    from malaprop.runs.api import goal as as_goal
    from malaprop.runs.api import recipe as make

    fixed = {"budget": budget, "goal": as_goal(goal), "measures": o.listed(measure)}
    made = [make(name).but(**fixed) for name in o.listed(attacks) or ()]
    columns = {"text": text, "label": label}
    work = Work(
        data, n, split, columns, seed=seed, width=width, device=device, cache=cache, quiet=quiet,
        precision=precision, engine=engine, address=address, workers=workers,
    )  # fmt: skip
    victims = o.listed(victim) or ()
    folder = o.out_folder(out, resume, "audit", *(victims if len(victims) == 1 else []), data)
    summary = work.suite(made, victims, folder, resume=resume)
    if not quiet:
        show([folder])
    o.say(f"report card: {summary['report']}", quiet)
    o.finish({"command": "audit", **summary}, json)
