"""malaprop bench: the speed tables, peers side by side where installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from malaprop.cli import options as o


def bench(
    victims: Annotated[str, typer.Option(help="Zoo names, separated by commas.")] = "LSTM-W-GloVe-1,CNN-W-GloVe-1,BERT",
    recipes: Annotated[
        str, typer.Option(help="pwws, textfooler, genetic.")
    ] = "pwws,pwws (stock wrapper),textfooler,genetic",
    n: o.Count = 100,
    threads: Annotated[int, typer.Option(help="CPU threads, the same for all.", min=1)] = 1,
    peer: Annotated[
        Path | None, typer.Option(help="Python of the environment that holds TextAttack; .venv-peers if not given.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Most seconds for one cell of the peer.")] = 120.0,
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Time our attacks beside TextAttack's and beside bare forward passes, on the same victims, texts and threads.

    Example:

      malaprop bench --victims CNN-W-GloVe-1 --recipes pwws --n 100
    """
    from malaprop.bench.compare import bench as run

    folder = o.out_folder(out, False, "bench")
    split = [[x.strip() for x in s.split(",") if x.strip()] for s in (victims, recipes)]
    table = run(
        folder, victims=split[0], recipes=split[1], n=n, threads=threads, peer_python=peer, seconds=seconds, quiet=quiet
    )
    o.say(f"tables in {folder}", quiet)
    o.finish({"command": "bench", "out": str(folder), **table}, json)
