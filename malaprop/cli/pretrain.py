"""malaprop pretrain: small encoders where no hub is in reach."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o


def pretrain(
    kind: Annotated[str, typer.Argument(help="elmo, roberta, albert or mlm-head.")],
    data: Annotated[
        str,
        typer.Option(help="Datasets as for train, wikitext, or text files (.txt, a text a line); join with commas."),
    ] = "wikitext",
    steps: Annotated[int | None, typer.Option(help="End after so many steps.", min=1)] = None,
    minutes: Annotated[float | None, typer.Option(help="End after so many minutes of training.")] = None,
    start: Annotated[str | None, typer.Option(help="A transformers folder or hub name to go on from.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the kind, as name=value; may be repeated.")
    ] = None,
    half: Annotated[bool, typer.Option("--half", help="Write weights of two bytes.")] = False,
    seed: o.Seed = 0,
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    device: o.Device = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Pre-train a small encoder for the zoo: ELMo, RoBERTa, ALBERT, or a masked-LM head on MiniLM.

    Without --out it goes to the cache, where train looks. The same command again goes on with what was killed.

    Examples:

      malaprop pretrain elmo --data wikitext,mr --minutes 10

      malaprop pretrain roberta --data reviews.csv --set layers=4 --set batch=256 --out models/roberta
    """
    from functools import partial

    from malaprop.core.catalogue import unknown
    from malaprop.core.settings import overrides
    from malaprop.models.pretrain.kinds import KINDS

    if kind not in KINDS:
        raise unknown("pretraining", kind, KINDS)
    settings = overrides(set_ or [])
    from malaprop.data.base import load
    from malaprop.models.pretrain.job import pretrain as work

    folder, card = work(
        kind,
        data=data,
        read=partial(load, text=text, label=label),
        folder=out,
        steps=steps,
        minutes=minutes,
        settings=settings,
        start=start,
        half=half,
        device=device,
        seed=seed,
        quiet=quiet,
    )
    if not quiet:
        print(", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in card.figures.items()))
        o.say(f"{kind} in {folder}")
    o.finish({"command": "pretrain", "kind": kind, "out": str(folder), **card.figures}, json)
