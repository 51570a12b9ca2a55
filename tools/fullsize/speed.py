"""Measure speed on one GPU, this tree beside an earlier one, in turns and within a few minutes.

    MALAPROP_DATA=DATA python tools/fullsize/speed.py --out FOLDER [--before CHECKOUT] [--seconds 240] [--device cuda]

A CNN, a BiLSTM and a causal model of a billion random weights are attacked on AG News; no network is needed. Each side
runs in a process of its own. FOLDER/speed.jsonl gets a line as each cell ends, with its `side` and `turn`;
FOLDER/log.txt gets what the processes print. A process that the time does not cover is left out or stopped, and the
table at the end shows what there is. `--tiny` tries everything on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDS = "speed.jsonl"
WORDS = ("cnn:pwws", "bilstm:pwws", "cnn:textfooler", "bilstm:textfooler")
CAUSAL = "causal:pwws"
TINY = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 2048, "tie_word_embeddings": True}  # fmt: skip
_LEAST = 15.0  # seconds that a process needs to be worth starting


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one process measures, one cell after the other."""

    side: str
    turn: int
    cells: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of the measurement."""

    data: str = "ag_news"
    device: str = "cuda"
    texts: int = 1000
    prompts: int = 192  # texts that the causal model gets
    width: int = 1024
    repeats: int = 3
    train: float = 5.0
    tiny: bool = False


def list_shares(sides: Sequence[str]) -> list[Share]:
    """Return the processes in the order in which they run: what matters most first, and each side first in turn."""
    first = [Share(side=side, turn=1, cells=WORDS[:2]) for side in sides]
    causal = [Share(side=side, turn=1, cells=(CAUSAL,)) for side in sides]
    again = [Share(side=side, turn=2, cells=WORDS[:2]) for side in reversed(sides)]
    other = [Share(side=side, turn=1, cells=WORDS[2:]) for side in sides]
    return first + causal + again + other


def run_all(trees: Mapping[str, Path], out: Path, size: Size, seconds: float) -> None:
    """Make the models, then run each share within the time that is left."""
    end = time.monotonic() + seconds
    make = Share(side="after", turn=0, cells=("make",))
    for share in (make, *list_shares([*trees])):
        if (left := end - time.monotonic()) < (0 if size.tiny else _LEAST):
            print(f"no time for turn {share.turn} of {share.side}: {', '.join(share.cells)}", flush=True)
            continue
        tree = trees.get(share.side, ROOT)
        paths = [str(tree), str(ROOT / "bench"), *filter(None, [os.environ.get("PYTHONPATH")])]
        known = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TOKENIZERS_PARALLELISM": "true"}
        given = json.dumps({"share": vars(share), "size": vars(size), "out": str(out)})
        with (out / "log.txt").open("a", encoding="utf-8") as log:
            try:
                command = [sys.executable, __file__, "--child", given]
                done = subprocess.run(command, env=known, stdout=log, stderr=log, timeout=left, check=False)  # noqa: S603
                said = "" if done.returncode == 0 else f", exit code {done.returncode}: see log.txt"
            except subprocess.TimeoutExpired:
                said = ", stopped: the time is up"
        spent = seconds - (end - time.monotonic())
        print(f"{spent:.0f} s: turn {share.turn} of {share.side}: {', '.join(share.cells)}{said}", flush=True)


def measure_share(share: Share, size: Size, out: Path) -> None:
    """Measure the cells of one process and write each at once; one that fails does not keep the others from running."""
    for cell in share.cells:
        name, _, recipe = cell.partition(":")
        begun = time.monotonic()
        try:
            if cell == "make":
                make_models(size, out)
                continue
            held = measure_causal(size) if cell == CAUSAL else measure_words(out / name, recipe, size)
        except Exception as error:  # noqa: BLE001 - the other cells are still to be measured
            held = {"error": f"{type(error).__name__}: {error}"[:300]}
        line = {
            "side": share.side,
            "turn": share.turn,
            "cell": cell,
            **held,
            "took_s": round(time.monotonic() - begun, 1),
        }
        with (out / RECORDS).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


def make_models(size: Size, out: Path) -> None:
    """Train the word models of both sides, for a few seconds."""
    from malaprop_bench import shapes

    from malaprop.data.base import load
    from malaprop.training.splits import splits

    data = splits(load, size.data)
    for name in ("cnn", "bilstm"):
        shapes.make(f"shape:{name}", data, out / name, seconds=size.train, device=size.device)


def measure_words(folder: Path, recipe: str, size: Size) -> dict[str, Any]:
    from malaprop_bench.throughput import Setting, measure

    setting = Setting(
        victim=str(folder), data=size.data, n=size.texts, recipe=recipe, device=size.device, width=size.width,
        repeats=size.repeats, predicted=True, floor_seconds=1.0,
    )  # fmt: skip
    return measure(setting).to_dict()


def measure_causal(size: Size) -> dict[str, Any]:
    from malaprop_bench.machine import describe
    from malaprop_bench.prompts import BILLION, draw_victim, share_of

    from malaprop.data.base import load
    from malaprop.training.splits import splits

    made = draw_victim(size.data, device=size.device, precision="bf16", settings=TINY if size.tiny else BILLION)
    examples = splits(load, size.data).test[: size.prompts]
    return {**share_of(made, examples, seconds=0.2 if size.tiny else 2.0), **describe(size.device)}


def show(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a row for each cell and side: the median rate, its share of forward passes alone, and each turn's rate."""
    cells = dict.fromkeys((line["cell"], line["side"]) for line in lines)
    for cell, side in cells:
        mine = [line for line in lines if (line["cell"], line["side"]) == (cell, side)]
        good = [line for line in mine if "error" not in line]
        if not good:
            yield f"{cell:18} {side:7} {mine[0]['error']}"
            continue
        both = [_rates(line) for line in good]
        rate, share = (median(row[at] for row in both) for at in (0, 1))
        each = ", ".join(f"{row[0]:,.0f}" for row in both)
        unit = "tokens/s" if cell == CAUSAL else "asked/s"
        yield f"{cell:18} {side:7} {rate:>10,.0f} {unit:8} share {share:.2f}   turns: {each}"


def _rates(line: Mapping[str, Any]) -> tuple[float, float]:
    if line["cell"] == CAUSAL:
        rate = line["read"] / line["seconds"]
        return rate, rate / line["forward"]
    return line["asked_per_s"], line["share"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("speed"))
    parser.add_argument("--before", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--texts", type=int, default=Size.texts)
    parser.add_argument("--prompts", type=int, default=Size.prompts)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        asked = json.loads(given.child)
        cells = tuple(asked["share"].pop("cells"))
        measure_share(Share(**asked["share"], cells=cells), Size(**asked["size"]), Path(asked["out"]))
        return
    size = Size(device=given.device, texts=given.texts, prompts=given.prompts)
    if given.tiny:
        size = replace(size, device="cpu", texts=8, prompts=2, width=8, repeats=1, train=0.5, tiny=True)
    given.out.mkdir(parents=True, exist_ok=True)
    before = {} if given.before is None else {"before": given.before.resolve()}
    run_all({"after": ROOT, **before}, given.out.resolve(), size, given.seconds)
    records = given.out / RECORDS
    lines = records.read_text(encoding="utf-8").splitlines() if records.is_file() else []
    print("\n".join(show([json.loads(line) for line in lines])))


if __name__ == "__main__":
    main()
