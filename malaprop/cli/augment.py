"""malaprop augment: perturbed copies of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from malaprop.cli import options as o


def augment(
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .tsv or .jsonl, with text,label and the source.")],
    method: Annotated[
        str,
        typer.Option(
            help="switch (important words give way to neighbours), keyboard (slips to a neighbouring key), blackbox "
            "(characters changed at random); settings behind a colon, as switch:words=3."
        ),
    ] = "switch",
    data: o.Data = "mr",
    copies: Annotated[int, typer.Option(help="How many copies of each text.", min=1)] = 4,
    victim: Annotated[
        str, typer.Option(help="switch: the victim that says which words are important; any that --victim takes.")
    ] = "LSTM-W-GloVe-1",
    n: o.CountOrAll = 0,
    split: Annotated[
        str,
        typer.Option(
            help="The part that is taken: train, validation, test (of a file, as train cuts it) or all. auto: train, "
            "and of a file all of it."
        ),
    ] = "auto",
    originals: Annotated[
        bool, typer.Option("--originals/--no-originals", help="Whether the texts themselves are written too.")
    ] = True,
    seed: o.Seed = 0,
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    device: o.Device = "auto",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Write a dataset with perturbed copies of its texts, to train on.

    Examples:

      malaprop augment --method switch --data reviews.csv --out more.csv

      malaprop augment --method switch:words=3:similarity=rank --victim BERT --copies 8 --out more.jsonl

      malaprop augment --method keyboard:r=0.05 --data mr --no-originals --out typos.csv
    """
    from dataclasses import replace

    from malaprop.core.errors import SettingError
    from malaprop.defences.augment import augmenter, write

    make = augmenter(method, copies)
    if out.exists() and Path(data).expanduser().exists() and out.samefile(Path(data).expanduser()):
        raise SettingError(f"--out {out} is the data itself; give another file")
    if out.exists():
        raise SettingError(f"--out {out} exists already; delete it or give another file")
    texts = o.selection(data, split, n, seed, text=text, label=label)
    if split == "auto" and not texts.is_file:
        texts = replace(texts, split="train")
    chosen = texts.held() if n else texts.whole()
    o.tell(chosen.notes, quiet)
    found = None
    if make.needs_victim:
        from malaprop.runs.victims import device_of
        from malaprop.runs.victims import victim as open_victim

        found = open_victim(victim, device=device_of(device), quiet=quiet)
    counts = write(out, chosen, make, found, seed=seed, originals=originals, say=lambda line: o.say(line, quiet))
    if not quiet:
        print(f"{counts.rows:,} rows of {counts.texts:,} texts in {out}; {counts.bare:,} texts had nothing to change")
    o.finish({"command": "augment", "out": str(out), **counts._asdict()}, json)
