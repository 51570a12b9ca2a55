"""Compare `strongest` with single recipes: `python -m malaprop_bench.ensembled OUT FOLDER...` reads audits."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import find_runs, outcomes_of
from malaprop.frame.records.summary import Rate

ALL = "strongest"
HEAD = (
    "victim, data",
    "texts",
    "accuracy under `strongest`",
    "under the best single recipe",
    "queries, mean",
    "of the best single recipe",
    "times as many",
    "broken by",
)


def keep(folders: Iterable[Path]) -> dict[str, Any]:
    """Return the texts broken and queries of every recipe, by victim and dataset, from the runs below these folders."""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for folder in find_runs(list(folders)):
        run, found = Run.read(folder), outcomes_of(folder)
        cell = cells.setdefault(
            (run.victim, run.data),
            {"victim": Path(run.victim).name, "data": Path(run.data.partition(":")[0]).stem, "recipes": {}},
        )
        cell["recipes"][run.recipe] = _figures(found)
    return {"cells": list(cells.values())}


def _figures(found: Sequence[Outcome]) -> dict[str, Any]:
    attacked = [one for one in found if one.status in ("success", "failed")]
    by: dict[str, int] = {}
    for one in attacked:
        if one.by:
            by[one.by] = by.get(one.by, 0) + 1
    return {
        "texts": len(found),
        "correct": len(attacked),
        "broken": sum(one.status == "success" for one in attacked),
        "queries": round(fmean(one.queries.asked for one in attacked), 1) if attacked else 0.0,
        **({"by": by} if by else {}),
    }


def best_single(recipes: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the recipe that breaks most texts; among equal ones that with the fewest queries."""
    single = [name for name in recipes if name != ALL and recipes[name]["texts"] == recipes[ALL]["texts"]]
    return min(single, key=lambda name: (-recipes[name]["broken"], recipes[name]["queries"]))


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each victim and dataset."""
    out = []
    for cell in held["cells"]:
        recipes = cell["recipes"]
        if ALL not in recipes:
            continue
        name = best_single(recipes)
        one, best = recipes[ALL], recipes[name]
        left = [Rate(run["correct"] - run["broken"], run["texts"]) for run in (one, best)]
        by = ", ".join(f"{recipe} {count}" for recipe, count in one["by"].items())
        times = one["queries"] / best["queries"]
        out.append(
            [
                *(f"{cell['victim']}, {cell['data']}", str(one["texts"]), str(left[0]), f"{left[1]}, `{name}`"),
                *(f"{one['queries']:.0f}", f"{best['queries']:.0f}", f"{times:.2f}", by),
            ]
        )
    return out


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(keep(map(Path, sys.argv[2:])), indent=1) + "\n", encoding="utf-8")
