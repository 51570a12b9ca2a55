"""malaprop train: a zoo model by name."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o


def train(
    spec: Annotated[str, typer.Argument(help="LSTM-W-GloVe-1, CNN-W-Random-1, BERT ...: see malaprop list models.")],
    data: o.Data = "mr",
    seed: o.Seed = 0,
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    device: o.Device = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train a model to a folder that --victim takes.

    Examples:

      malaprop train LSTM-W-GloVe-1

      malaprop train BERT --data reviews.csv --out models/mine
    """
    from malaprop.runs.victims import train as run

    folder = o.out_folder(out, False, "train", spec, data)
    figures = run(spec, data, folder, seed=seed, text=text, label=label, device=device, quiet=quiet)
    if not quiet:
        print(", ".join(f"{name} {value}" for name, value in figures.items()))
        o.say(f"model in {folder}; attack it with: malaprop audit --victim {folder}")
    o.finish({"command": "train", "spec": spec, "out": str(folder), **figures}, json)
