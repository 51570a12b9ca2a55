"""malaprop attack: one recipe over a dataset."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o


def attack(
    recipe: Annotated[
        str, typer.Argument(help="pwws, textfooler, genetic, deepwordbug ...: see malaprop list recipes.")
    ],
    victim: o.Victim,
    defence: Annotated[
        str, typer.Option(help="What stands before the victim: none, five, fuse:samples=8:seed=fresh ...")
    ] = "none",
    data: o.Data = "mr",
    n: o.CountOrAll = 100,
    budget: o.Budget = None,
    goal: o.Goal = None,
    measure: o.Measure = None,
    cache: o.Cache = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the recipe, as name=value; may be repeated.")
    ] = None,
    words: Annotated[
        int | None, typer.Option(help="Of one-word recipes (gs-gr, list ...): how many words may change.", min=1)
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
    """Attack a dataset with one recipe and write the outcomes.

    Examples:

      malaprop attack pwws --victim LSTM-W-GloVe-1 --n 200

      malaprop attack textfooler --victim my_model:predict --data reviews.csv --budget 500 --out runs/mine

      malaprop attack genetic --victim BERT --set size=20 --set rounds=10 --out runs/mine --resume

      malaprop attack gs-ec --victim BiLSTM-Attention --words 2 --set vocabulary=5000 --measure distance,similarity

      malaprop attack typos --victim BERT --data large.jsonl --n all --engine ray --address head:6379 --out runs/large
    """
    from malaprop.core.settings import overrides
    from malaprop.runs.api import goal as as_goal
    from malaprop.runs.api import recipe as make

    settings = overrides(set_ or []) | ({} if words is None else {"words": words})
    made = make(recipe, **settings).but(budget=budget, goal=as_goal(goal), measures=o.listed(measure))
    from malaprop.cli.show import show
    from malaprop.cli.work import Work
    from malaprop.runs.victims import behind

    victim = behind(defence, victim)
    texts = o.selection(data, split, n, seed, text=text, label=label, fields=fields, labels=labels)
    work = Work(
        texts, width=width, device=device, cache=cache, quiet=quiet, precision=precision, engine=engine,
        address=address, workers=workers,
    )  # fmt: skip
    folder = o.out_folder(out, resume, recipe, victim, data)
    summary = work.one(made, victim, folder, resume=resume)
    if not quiet:
        show([folder], below=False)
        o.say(f"outcomes in {folder}; see them with: malaprop report {folder}")
    o.finish({"command": "attack", "out": str(folder), **summary}, json)
