"""Measure false alarms of a memory of queries on harmless texts: `python -m malaprop_bench.strangers OUT DATA...`.

One memory receives the texts of a dataset, each once, in an order drawn by the seed 0. Except for duplicates in the
data none of them is a variant of another, so each rejection is a false alarm.
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
from malaprop.features.defending.stateful import QueryMemory
from malaprop.frame.records.summary import Rate

HEAD = ("texts of", "limit", "rejected", "milliseconds a text")
LIMITS = (3, 5, 10)
MOST = 10_000  # texts of a dataset, and of the memory


def measure(texts: Sequence[Fields], limit: int) -> dict[str, Any]:
    """Count the texts that one memory rejects, and its time for a text."""
    memory, began = QueryMemory(limit=limit, remember=MOST), process_time()
    rejected = sum(not memory.admit(text) for text in texts)
    return {"rejected": rejected, "texts": len(texts), "ms": round(1000 * (process_time() - began) / len(texts), 2)}


def read_texts(data: str) -> list[Fields]:
    """Return the training texts of a dataset in random order, up to `MOST`."""
    texts = [tuple(example.fields.values()) for example in load(data, split="train")]
    Random(0).shuffle(texts)
    return texts[:MOST]


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each dataset and limit."""
    return [
        [name, limit, str(Rate(found["rejected"], found["texts"])), f"{found['ms']:.1f}"]
        for name, limits in held["streams"].items()
        for limit, found in limits.items()
    ]


def run(names: Iterable[str]) -> dict[str, Any]:
    """Measure these datasets and return the record."""
    streams = {}
    for name in names:
        texts = read_texts(name)
        measure(texts[:100], 5)  # loading is not measured
        streams[name] = {str(limit): measure(texts, limit) for limit in LIMITS}
    return {"remember": MOST, "streams": streams}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(run(sys.argv[2:]), indent=1) + "\n", encoding="utf-8")
