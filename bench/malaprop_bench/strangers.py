"""What a memory of queries costs people who attack nothing: `python -m malaprop_bench.strangers OUT DATA...`.

The texts of a dataset are put to one memory, each once, in an order drawn by the seed 0. None of them is a form of
another, but for what the data has twice, so whoever is rejected is rejected wrongly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from malaprop.core.victim import Fields
from malaprop.data.base import load
from malaprop.features.defending.querymemory import QueryMemory
from malaprop.frame.records.summary import Rate

HEAD = ("texts of", "limit", "rejected", "milliseconds a text")
LIMITS = (3, 5, 10)
MOST = 10_000  # texts of a dataset, and of the memory


def measure(texts: Sequence[Fields], limit: int) -> dict[str, Any]:
    """How many of these texts one memory rejects."""
    memory, began = QueryMemory(limit=limit, remember=MOST), process_time()
    rejected = sum(not memory.admit(text) for text in texts)
    return {"rejected": rejected, "texts": len(texts), "ms": round(1000 * (process_time() - began) / len(texts), 2)}


def read_texts(data: str) -> list[Fields]:
    """The training texts of a dataset, in another order."""
    texts = [tuple(example.fields.values()) for example in load(data, split="train")]
    Random(0).shuffle(texts)
    return texts[:MOST]


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """A line for each dataset and limit."""
    return [
        [name, limit, str(Rate(found["rejected"], found["texts"])), f"{found['ms']:.1f}"]
        for name, limits in held["streams"].items()
        for limit, found in limits.items()
    ]


def run(names: Iterable[str]) -> dict[str, Any]:
    """The record of these datasets."""
    streams = {}
    for name in names:
        texts = read_texts(name)
        measure(texts[:100], 5)  # what is read once is no part of the time
        streams[name] = {str(limit): measure(texts, limit) for limit in LIMITS}
    return {"remember": MOST, "streams": streams}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(run(sys.argv[2:]), indent=1) + "\n", encoding="utf-8")
