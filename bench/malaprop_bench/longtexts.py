"""Measure every recipe on long texts: `python -m malaprop_bench.longtexts OUT FOLDER...` reads the files of `own`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from malaprop_bench.measured import Measured
from malaprop_bench.own import DEFAULTS

HEAD = ("recipe", "texts", "broken", "queries, median", "processor seconds a text")


def keep(folders: Iterable[Path]) -> dict[str, Any]:
    """Return the figures of each recipe, from RECIPE (our defaults).json in one of the folders; a later folder wins."""
    files = {
        file.stem.removesuffix(DEFAULTS): Measured.read(file) for folder in folders for file in folder.glob("*.json")
    }
    return {
        "recipes": {
            name: {
                "texts": one.success.total,
                "broken": one.success.hits,
                "queries": one.median_queries,
                "processor_s": round(one.processor_s / max(1, len(one.outcomes)), 2),
            }
            for name, one in sorted(files.items())
        }
    }


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each recipe."""
    return [
        [
            f"[{name}](recipes/{name}.md)",
            *(str(one["texts"]), str(one["broken"]), f"{one['queries']:,.0f}", f"{one['processor_s']:.1f}"),
        ]
        for name, one in held["recipes"].items()
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(keep(map(Path, sys.argv[2:])), indent=1) + "\n", encoding="utf-8")
