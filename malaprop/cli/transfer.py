"""malaprop transfer: does an attack on one model carry over to another?"""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o

VICTIMS = "LSTM-W-Random-1,LSTM-W-GloVe-1,CNN-W-Random-1,CNN-W-GloVe-1,CNN-C-Random-1,CNN-W-Random-2"


def transfer(
    victims: Annotated[
        str,
        typer.Option(
            help="Two or more, separated by commas: zoo names, folders written by train, folders of such folders, "
            "all63, or whatever --victim takes elsewhere."
        ),
    ] = VICTIMS,
    data: o.Data = "mr",
    train_data: Annotated[
        str | None, typer.Option(help="What zoo names are trained on; --data, its training part, if not given.")
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(help="pwws or genetic:wordnet, over WordNet synonyms of the same part of speech, or another."),
    ] = "pwws",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the recipe, as name=value; may be repeated.")
    ] = None,
    n: o.CountOrAll = 1000,
    draw: Annotated[int, typer.Option(help="Successes of each source that are tried on the others.", min=1)] = 500,
    base: Annotated[
        bool,
        typer.Option("--base/--no-base", help="Base rates from a second model of each, trained from another seed."),
    ] = True,
    seed: o.Seed = 0,
    width: o.Width = 256,
    split: o.Split = "auto",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    fields: o.Fields = None,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    jobs: Annotated[
        int, typer.Option(help="Processes that attack, and train what is missing, side by side.", min=1)
    ] = 1,
    engine: o.Engine = "local",
    address: o.Address = None,
    workers: o.Workers = None,
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Attack every victim and try the adversarial texts on all the others: matrix, base rates, factors.

    The same --out goes on with what was killed; a source that is finished is never attacked again.

    Examples:

      malaprop transfer --n 100 --jobs 2

      malaprop transfer --victims LSTM-W-GloVe-1,CNN-W-GloVe-1,./mine,my_model:predict --data reviews.csv --no-base

      malaprop transfer --victims all63 --data mr --jobs 14 --out runs/all63
    """
    from malaprop.cli.carry import Settings, run_transfer
    from malaprop.core.settings import overrides

    settings = Settings(
        texts=o.selection(data, split, n, seed, text=text, label=label, fields=fields, labels=labels),
        train_data=train_data or data, recipe=recipe, settings=overrides(set_ or []), width=width, device=device,
        precision=precision, jobs=jobs, engine=engine, address=address, workers=workers, quiet=quiet,
    )  # fmt: skip
    folder = o.out_folder(out, resume, "transfer", recipe, data)
    summary = run_transfer(settings, o.listed(victims) or (), folder, wanted=draw, base=base)
    o.finish({"command": "transfer", **summary}, json)
