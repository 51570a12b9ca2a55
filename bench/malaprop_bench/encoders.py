"""What the sentence encoder takes for a text: by the library, and by our pass that computes no padding.

python -m malaprop_bench.encoders OUT.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

HEAD = ("texts at a time", "library, fp32: ms a text", "ours, fp32", "ours, bf16")
BATCHES, ROUNDS = (1, 8, 32), 3
WAYS = ("library", "fp32", "bf16")


def measure(texts: int = 64) -> dict[str, Any]:
    """Return processor milliseconds a text, the best of some rounds, and the largest errors of a cosine."""
    import torch

    from malaprop.assets import store
    from malaprop.data import load
    from malaprop.models.encoders.encoder import SentenceEncoder
    from malaprop_bench.machine import describe

    torch.set_num_threads(1)
    folder = store.locate("minilm")
    ours, library = SentenceEncoder(folder), SentenceEncoder(folder, fast=False)
    found = [example.fields["text"] for example in load("mr").sample(None).examples[:texts]]
    ways = dict(zip(WAYS, (library.encode, ours.encode, ours.sketch), strict=True))
    rows = [{"batch": many, **{name: _time(encode, found, many) for name, encode in ways.items()}} for many in BATCHES]
    # each text beside itself with its last words left out: cosines from high to low
    pairs = [(text, " ".join(text.split()[: -1 - n % 6])) for n, text in enumerate(found)]
    cosines = {name: _cosines(encode, pairs) for name, encode in ways.items()}
    errors = {name: float(np.abs(cosines[name] - cosines["library"]).max()) for name in WAYS[1:]}
    about = {name: value for name, value in describe("cpu").items() if name in ("machine", "torch", "date")}
    return {**about, "texts": texts, "data": "mr", "threads": 1, "rows": rows, "errors": errors}


def _time(encode: Callable[[Sequence[str]], Any], texts: Sequence[str], many: int) -> float:
    spent = []
    for _ in range(ROUNDS):
        began = process_time()
        for at in range(0, len(texts), many):
            encode(texts[at : at + many])
        spent.append(process_time() - began)
    return round(1000 * min(spent) / len(texts), 2)


def _cosines(encode: Callable[[Sequence[str]], Any], pairs: Sequence[tuple[str, str]]) -> Any:
    one, two = (encode([pair[side] for pair in pairs]) for side in (0, 1))
    return (one * two).sum(1)


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each size of a batch."""
    return [[str(row["batch"]), *(f"{row[name]:.1f}" for name in WAYS)] for row in held["rows"]]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(measure()) + "\n", encoding="utf-8")
