"""Compare the cost of an epoch of each hardening with plain training: a few steps of each, on the same batches.

The steps are of a second pass over the texts: only in the first one `swaps` looks up the synonyms of each text.

python -m malaprop_bench.epochs docs/measured/epochs.json --model LSTM-W-GloVe-1 --machine "one core"

The rows are added to the file, the last of each machine, model and method. `malaprop bench --fill
docs/appendix/defences.md`
puts the table on the page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from malaprop_bench.table import lines

PLAIN = "plain"
METHODS = (
    *(
        "flooding",
        "dsrm",
        "infobert",
        "miyato",
        "smart",
        "freelb",
        "ascc",
        "dne",
        "swaps",
        "reject",
        "a2t",
        "augment:recipe=pwws",
    ),
    *("blackbox", "fact", "safer", "ranmask"),
)
BAR = 3.0  # the most that a2t, ascc and flooding are to cost


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTraining:
    """The time of a training step of one method, and of a plain step: processor time, or wall time on a GPU."""

    machine: str
    model: str
    data: str
    method: str
    steps: int  # that were timed
    batch: int
    step_s: float
    plain_s: float

    @property
    def ratio(self) -> float:
        return self.step_s / self.plain_s


def measure(
    model: str, methods: Sequence[str], *, machine: str, data: str = "mr", device: str = "cpu", steps: int = 20
) -> list[TimedTraining]:
    """Time plain training first and last, of which the quicker counts, and the methods between."""
    import torch

    from malaprop.core.errors import MalapropError
    from malaprop.features.hardening.auto_budget import find_batch, time_epoch
    from malaprop.frame.runs.victims import device_of
    from malaprop.frame.study.training_methods import Hardening
    from malaprop.frame.study.training_tasks import LearningData, find_named
    from malaprop.zoo.train import TrainingInput

    torch.set_num_threads(1)
    parts, place = LearningData(data=data).splits(), device_of(device)
    named = find_named(model, parts, TrainingInput(), 0)
    found: dict[str, list[float]] = {}
    for method in (PLAIN, *methods, PLAIN):
        hardening = None if method == PLAIN else Hardening.of(method)
        try:
            one = time_epoch(model, parts, hardening, device=place, steps=steps, again=True)
        except MalapropError as error:
            print(f"{method} is left out: {error}")
            continue
        found.setdefault(method, []).append(one.processor if place == "cpu" else one.step)
        print(f"{method}: {1000 * found[method][-1]:.1f} ms a step", flush=True)
    about: dict[str, Any] = {
        "machine": machine, "model": model, "data": data, "steps": steps,
        "batch": find_batch(named.spec, named.given, len(named.data.train)), "plain_s": round(min(found[PLAIN]), 5),
    }  # fmt: skip
    return [TimedTraining(**about, method=name, step_s=round(min(seconds), 5)) for name, seconds in found.items()]


def read(path: Path) -> list[TimedTraining]:
    """Return the rows of a file that `write` wrote; none if there is no file."""
    return (
        [TimedTraining(**row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]] if path.exists() else []
    )


def write(path: Path, rows: Sequence[TimedTraining]) -> None:
    """Write the last row of each machine, model and method."""
    kept = {(row.machine, row.model, row.method): row for row in rows}
    path.write_text(json.dumps({"rows": [asdict(row) for row in kept.values()]}, indent=1) + "\n", encoding="utf-8")


def table_lines(held: Mapping[str, Any]) -> list[str]:
    """Return a row for each method, a column for each machine and model: time over the plain step's in the head."""
    rows = [TimedTraining(**row) for row in held["rows"]]
    places = {(row.machine, row.model): row for row in rows if row.method == PLAIN}
    ratios = {(row.machine, row.model, row.method): row.ratio for row in rows}
    names = [name for name in dict.fromkeys(row.method for row in rows) if name != PLAIN]
    head = [
        f"{model}, {machine} (plain: {1000 * row.plain_s:.0f} ms for {row.batch} texts)"
        for (machine, model), row in places.items()
    ]
    return lines(
        ["method", *head], [[f"`{name}`", *(_show(ratios.get((*at, name))) for at in places)] for name in names]
    )


def _show(ratio: float | None) -> str:
    return "not measured" if ratio is None else f"{ratio:.1f}"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.epochs", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="LSTM-W-GloVe-1", help="a model of the zoo, or the folder of a classifier")
    parser.add_argument("--methods", default=",".join(METHODS), help="methods of harden, separated by commas")
    parser.add_argument("--machine", default="one core")
    parser.add_argument("--data", default="mr")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=20, help="best a multiple of 20: a2t attacks in every 20th step")
    given = vars(parser.parse_args(words))
    file, model, methods = given.pop("file"), given.pop("model"), given.pop("methods").split(",")
    rows = measure(model, methods, **given)
    write(file, [*read(file), *rows])
    print("\n".join(table_lines({"rows": [asdict(row) for row in rows]})))


if __name__ == "__main__":
    main()
