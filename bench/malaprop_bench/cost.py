"""Estimate the cost of a campaign: measured speeds in a JSON file, extrapolated to any number of texts.

python -m malaprop_bench.cost measure docs/measured/cost.json --victim CNN-W-GloVe-1 --recipe pwws --machine "one core"
python -m malaprop_bench.cost table docs/measured/cost.json --texts 10000000
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from malaprop.core.errors import RecordError

_WARM = 8  # texts attacked beforehand, so that loading and compiling, which happen once, are not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measured run. `seconds` are processor time of one core, or wall time on a GPU."""

    machine: str
    victim: str
    recipe: str
    data: str
    texts: int
    seconds: float
    asked: float  # queries a text, on average

    @property
    def rate(self) -> float:
        """Return the texts attacked in a second."""
        return self.texts / self.seconds

    def hours(self, texts: int) -> float:
        """Return the hours of one such machine for so many texts; time is linear, as examples do not share work."""
        return texts / self.rate / 3600

    @property
    def key(self) -> tuple[str, ...]:
        return self.machine, self.victim, self.recipe, self.data


def measure(victim: str, recipe: str, *, machine: str, data: str = "mr", n: int = 100, device: str = "cpu") -> Measured:
    """Attack `n` texts in this process, on one core or one GPU; return the measured run."""
    import torch

    from malaprop.data.base import load
    from malaprop.data.matching import agree
    from malaprop.frame.runs.local import run
    from malaprop.frame.runs.make_attack import recipe as make
    from malaprop.frame.runs.services import services
    from malaprop.frame.runs.victims import device_of
    from malaprop.frame.runs.victims import victim as open_victim

    torch.set_num_threads(1)
    place = device_of(device)
    model, attack = open_victim(victim, device=place, quiet=True), make(recipe)
    texts = agree(load(data).sample(n + _WARM), model).examples
    held = services(model)
    list(run(attack, model, texts[:_WARM], services=held))
    clock = process_time if place == "cpu" else perf_counter
    began = clock()
    found = list(run(attack, model, texts[_WARM:], services=held))
    seconds = clock() - began
    asked = sum(o.queries.asked for o in found) / len(found)
    return Measured(
        machine=machine,
        victim=model.name,
        recipe=recipe,
        data=data,
        texts=len(found),
        seconds=round(seconds, 3),
        asked=round(asked, 1),
    )


def read(path: Path) -> list[Measured]:
    """Return the rows of a file that `measure` wrote."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return [Measured(**{f.name: row[f.name] for f in fields(Measured)}) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path} does not hold measured runs: {error!r}; write it with: measure") from None


def write(path: Path, rows: Iterable[Measured]) -> None:
    """Write the rows in order, the last of each machine, victim, recipe and dataset."""
    kept = {row.key: row for row in rows}
    whole = [asdict(kept[key]) for key in sorted(kept)]
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def table(rows: Sequence[Measured], texts: int, prices: Mapping[str, float] | None = None) -> str:
    """Return a Markdown table; `prices` are of one hour of each machine, in any currency."""
    priced = prices or {}
    head = [
        "machine",
        "victim",
        "recipe",
        "data",
        "measured",
        "queries a text",
        "texts a second",
        f"hours for {texts:,}",
    ]
    lines = [head + ["cost"] * bool(priced), ["---"] * (len(head) + bool(priced))]
    for row in sorted(rows, key=lambda row: (row.machine, row.victim, row.hours(texts))):
        hours = row.hours(texts)
        cells: list[Any] = [row.machine, row.victim, row.recipe, row.data, f"{row.texts} texts in {row.seconds:.1f} s"]
        cells += [f"{row.asked:.0f}", _short(row.rate), _short(hours)]
        if priced:
            cells.append(_short(hours * priced[row.machine]) if row.machine in priced else "-")
        lines.append([str(cell) for cell in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def put(page: str, made: str) -> str:
    """Return a page with the table between its marks."""
    before, opens, rest = page.partition("<!-- cost -->\n")
    _, closes, after = rest.partition("<!-- /cost -->")
    if not opens or not closes:
        raise RecordError("the page has no place for the table: add the lines <!-- cost --> and <!-- /cost -->")
    return f"{before}{opens}\n{made}\n{closes}{after}"


def _short(number: float) -> str:
    """Format with two significant digits: such estimates have no more."""
    return f"{number:.2g}" if number < 10 else f"{float(f'{number:.2g}'):,.0f}"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.cost", description=__doc__)
    parts = parser.add_subparsers(dest="what", required=True)
    one = parts.add_parser("measure", help="time one recipe on one victim and add the row to the file")
    two = parts.add_parser("table", help="print the table")
    for part in (one, two):
        part.add_argument("file", type=Path)
    for name, value in {"victim": None, "recipe": None, "machine": "one core", "data": "mr", "device": "cpu"}.items():
        one.add_argument(f"--{name}", default=value, required=value is None)
    one.add_argument("--n", type=int, default=100)
    two.add_argument("--texts", type=int, default=10_000_000)
    two.add_argument("--into", type=Path, help="a page: the table goes between <!-- cost --> and <!-- /cost -->")
    two.add_argument("--price", action="append", default=[], metavar="MACHINE=PRICE", help="of an hour")
    given = vars(parser.parse_args(words))
    what, file = given.pop("what"), given.pop("file")
    if what == "table":
        prices = {name: float(price) for name, _, price in (pair.rpartition("=") for pair in given["price"])}
        made = table(read(file), given["texts"], prices)
        if given["into"] is not None:
            page = given["into"].read_text(encoding="utf-8")
            given["into"].write_text(put(page, made), encoding="utf-8")
        print(made, end="")
        return
    row = measure(given.pop("victim"), given.pop("recipe"), **given)
    write(file, [*read(file), row])
    print(table([row], 10_000_000), end="")


if __name__ == "__main__":
    main()
