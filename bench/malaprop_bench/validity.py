"""Attacks as published beside attacks that keep the meaning: `python -m malaprop_bench.validity OUT FOLDER...`.

The folders are those of `malaprop audit`, run with --validity paper and with --validity valid on the same texts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import find_runs, outcomes_of
from malaprop.frame.records.summary import Rate

HEAD = (
    "data",
    "model",
    "attack",
    "clean accuracy",
    "success as published",
    "of these kept, by the judge",
    "success that keeps the meaning",
    "robust accuracy, valid attacks",
    "queries, published and valid",
)


def keep(folders: Iterable[Path]) -> dict[str, Any]:
    """Return the figures of every run below these folders."""
    return {"cells": [_cell(Run.read(folder), outcomes_of(folder)) for folder in find_runs(list(folders))]}


def _cell(run: Run, found: Sequence[Outcome]) -> dict[str, Any]:
    attacked = [one for one in found if one.status in ("success", "failed")]
    broken = [one for one in attacked if one.status == "success"]
    verdicts = [one.validity for one in broken]
    return {
        "data": run.data,
        "victim": run.victim,
        "recipe": run.recipe,
        "validity": "valid" if run.parts.get("judge") else "paper",
        "texts": sum(one.status != "error" for one in found),
        "correct": len(attacked),
        "broken": len(broken),
        **{name: verdicts.count(name) for name in ("kept", "unsure", "changed")},
        "queries": median(one.queries.asked for one in attacked) if attacked else 0,
        "words": round(fmean(one.changed_share for one in broken), 4) if broken else None,
    }


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each model and attack that was run both ways."""
    cells = {(one["data"], one["victim"], one["recipe"], one["validity"]): one for one in held["cells"]}
    found = []
    for (data, victim, recipe, validity), valid in sorted(cells.items()):
        paper = cells.get((data, victim, recipe, "paper"))
        if validity == "valid" and paper is not None:
            found.append([data, victim, f"`{recipe}`", *_compare(paper, valid)])
    return found


def _compare(paper: Mapping[str, Any], valid: Mapping[str, Any]) -> list[str]:
    return [
        str(Rate(valid["correct"], valid["texts"])),
        str(Rate(paper["broken"], paper["correct"])),
        str(Rate(paper["kept"], paper["broken"])),
        str(Rate(valid["kept"], valid["correct"])),
        str(Rate(valid["correct"] - valid["kept"], valid["texts"])),
        f"{paper['queries']:,.0f} and {valid['queries']:,.0f}",
    ]


if __name__ == "__main__":
    out, *folders = sys.argv[1:]
    Path(out).write_text(json.dumps(keep(map(Path, folders)), indent=1) + "\n", encoding="utf-8")
