"""malaprop ensemble: which models, attacked together, give texts that carry over furthest?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from malaprop.cli import options as o


def ensemble(
    source: Annotated[Path, typer.Option("--from", help="The --out of a transfer study.")],
    size: Annotated[str, typer.Option(help="How many members: 3, 2..7 or 2,4,6.")] = "2..7",
    by: Annotated[
        str, typer.Option(help="How they are chosen, separated by commas: genetic, expert, greedy, exact.")
    ] = "genetic,expert,greedy,exact",
    hold_out: Annotated[int, typer.Option(help="Models, drawn by the seed, that no choice may see.", min=0)] = 0,
    population: Annotated[int, typer.Option(help="Of the genetic algorithm: ensembles in a generation.", min=2)] = 60,
    generations: Annotated[int, typer.Option(help="Of the genetic algorithm.", min=0)] = 60,
    seed: Annotated[int | None, typer.Option(help="Of the choice; the study's own if not given.", min=0)] = None,
    width: o.Width = 256,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    jobs: Annotated[int, typer.Option(help="Processes that attack side by side.", min=1)] = 1,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Choose ensembles from a transfer study, attack them, and try their adversarial texts on models outside them.

    An ensemble that was attacked before is not attacked again. Writes to the study's own folder.

    Examples:

      malaprop ensemble --from runs/all63 --size 2..7 --jobs 14

      malaprop ensemble --from runs/mine --size 2 --by genetic,greedy
    """
    from malaprop.cli.carry import run_ensembles
    from malaprop.transfer.choose import Genetic
    from malaprop.transfer.ensembles import Choice

    choice = Choice(
        sizes=_sizes(size),
        how=o.listed(by) or (),
        unseen=hold_out,
        genetic=Genetic(population=population, generations=generations),
    )
    summary = run_ensembles(
        source, choice, seed=seed, width=width, device=device, precision=precision, jobs=jobs, quiet=quiet
    )
    o.finish({"command": "ensemble", **summary}, json)


def _sizes(text: str) -> tuple[int, ...]:
    from malaprop.core.errors import SettingError

    sizes: set[int] = set()
    for part in text.split(","):
        low, dots, high = part.strip().partition("..")
        ends = (low, high if dots else low)
        if not all(end.isdecimal() and 0 < int(end) < 1000 for end in ends) or int(ends[0]) > int(ends[1]):
            raise SettingError(f"--size takes a number, a range such as 2..7, or several with commas, got {text!r}")
        sizes.update(range(int(ends[0]), int(ends[1]) + 1))
    return tuple(sorted(sizes))
