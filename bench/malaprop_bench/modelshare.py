"""An upper bound of the speed-up of recipes that use an encoder or a masked language model: the time of the models.

malaprop bench --together --attack textbugger --victim LSTM-W-GloVe-1 --n 50 --seconds 20 --out runs/models
python -m malaprop_bench.modelshare runs/models >> docs/measured/model-share.jsonl

The second command attacks the texts that TextAttack finished once more, with clocks around the models.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from malaprop_bench.parts import Clock, Clocked

HEAD = (
    "recipe",
    "victim",
    "texts",
    "processor s, ours",
    "of it in encoder and masked language model",
    "processor s, TextAttack",
    "times faster",
    "times faster if all else took no time",
)
PEER = "TextAttack"
MODELS = {"encoder_s": ("encoder", "encoder/rough"), "masked_lm_s": ("masked-lm",)}  # services of each


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a record for each recipe of a comparison that TextAttack ran too."""
    import torch

    from malaprop_bench import own
    from malaprop_bench.machine import describe
    from malaprop_bench.measured import read_rows

    torch.set_num_threads(1)
    held = json.loads((folder / "bench.json").read_text())
    about = {name: value for name, value in describe("cpu").items() if name in ("machine", "date")}
    data = held["terms"]["data"]
    for cell in held["cells"]:
        peer = cell["peers"][PEER]
        rows = read_rows(folder / "held" / cell["victim"] / "rows.jsonl")[: peer["rows"]]
        victim = own.victim(own.folder(cell["victim"], data))
        yield {
            "recipe": peer["ours_recipe"], "victim": cell["victim"], "data": data, "threads": 1, **about,
            "texts": len(rows), "ours": clock_models(cell["recipe"], victim, rows),
            "theirs": {"processor_s": peer["processor_s"], "asked": peer["asked"]},
        }  # fmt: skip


def clock_models(recipe: str, victim: Any, rows: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Attack the rows after one text that warms up; return processor seconds, and those of the models."""
    from malaprop.core.example import Example
    from malaprop.frame.runs.local import run
    from malaprop.frame.runs.services import services
    from malaprop_bench import own
    from malaprop_bench.metered import WARM

    attack, warm = own.build(recipe), WARM["en"]
    label = int(victim.predict([(warm,)])[0].argmax())
    list(run(attack, victim, [Example("warm", {"text": warm}, label)]))
    clock, known = Clock(), services(victim)
    for name in (name for names in MODELS.values() for name in names):
        known[name] = Clocked(known[name], name, clock)
    examples = [Example(f"row {number}", {"text": text}, label) for number, (text, label) in enumerate(rows)]
    spent = process_time()
    found = list(run(attack, victim, examples, services=known))
    spent = process_time() - spent
    seconds = {field: sum(clock.seconds[name] for name in names) for field, names in MODELS.items()}
    return {
        "processor_s": round(spent, 3), **{field: round(took, 3) for field, took in seconds.items()},
        "encoded": sum(clock.items[name] for name in MODELS["encoder_s"]), "asked": sum(o.queries.asked for o in found),
    }  # fmt: skip


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each record; the bound is the peer's time over the time of our models alone."""
    out = []
    for held in records:
        ours, theirs = held["ours"]["processor_s"], held["theirs"]["processor_s"]
        models = held["ours"]["encoder_s"] + held["ours"]["masked_lm_s"]
        ratios = f"{theirs / ours:.1f}", f"{theirs / models:.1f}"
        counts = f"{ours:.2f}", f"{models / ours:.0%}", f"{theirs:.2f}"
        out.append([held["recipe"], held["victim"], str(held["texts"]), *counts, *ratios])
    return out


if __name__ == "__main__":
    for record in measure(Path(sys.argv[1])):
        print(json.dumps(record), flush=True)
