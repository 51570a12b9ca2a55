"""Attacks as published beside attacks that keep the meaning.

python -m malaprop_bench.validity table OUT FOLDER...          folders of malaprop audit, --validity paper and valid
python -m malaprop_bench.validity search OUT DATA VICTIM       a recipe's search beside every text of its candidates
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
    """Return the figures of every run below these folders, on the texts that all runs of a model and recipe have."""
    runs = [(Run.read(folder), outcomes_of(folder)) for folder in find_runs(list(folders))]
    shared: dict[tuple[str, str, str], set[str]] = {}
    for run, found in runs:
        ids = {one.id for one in found}
        shared[_place(run)] = shared.get(_place(run), ids) & ids
    return {"cells": [_cell(run, [one for one in found if one.id in shared[_place(run)]]) for run, found in runs]}


def _place(run: Run) -> tuple[str, str, str]:
    return run.data, run.victim, run.recipe


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


BRIEF = ("model", "texts", "success as published", "of these kept, by the judge", "success that keeps the meaning")


def brief_rows(held: Mapping[str, Any], recipe: str = "textfooler") -> list[list[str]]:
    """Return a row for each model and one attack: how many successes are left when the meaning must stay."""
    return [[row[1], row[0], *row[4:7]] for row in rows(held) if row[2] == f"`{recipe}`"]


SEARCHED = ("attack", "texts", "found", "found by exhaustive search", "share found", "queries: valid, published")
SHORT = 14  # words of the texts that are searched exhaustively
_LIMIT = 20_000  # texts that an exhaustive search may ask of one example


def compare_searches(data: str, victim: Any, *, texts: int, recipes: Sequence[str]) -> dict[str, Any]:
    """Return how many short texts each recipe breaks in `valid` mode, beside every combination of its candidates."""
    import malaprop as mp
    from malaprop.attacks.search.sampling import Exhaustive
    from malaprop.attacks.validity import set_validity

    drawn = [(" ".join(one.fields.values()), one.label) for one in mp.load(data, split="test")]
    examples = [(text, label) for text, label in drawn if len(text.split()) <= SHORT]
    answers = victim.predict([text for text, _ in examples]).argmax(1)
    right = [pair for pair, answer in zip(examples, answers.tolist(), strict=True) if answer == pair[1]][:texts]
    cells = []
    for recipe in recipes:
        paper = mp.recipe(recipe)
        valid = set_validity(paper, "valid")
        full = replace(valid, search=Exhaustive(limit=_LIMIT), fallback=None)
        runs = [mp.attack(attack, victim, right, seed=0) for attack in (valid, full, replace(paper, rater=None))]
        broken = [{at for at, one in enumerate(found) if one.status == "success"} for found in runs[:2]]
        asked = [median(one.queries.asked for one in found) for found in (runs[0], runs[2])]
        cells.append(
            {
                "recipe": recipe, "texts": len(right), "found": len(broken[0] & broken[1]),
                "exhaustive": len(broken[1]), "only_found": len(broken[0] - broken[1]), "queries": asked,
            }
        )  # fmt: skip
    return {"data": data, "victim": str(victim.name), "words": SHORT, "cells": cells}


def search_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each recipe whose search was compared with an exhaustive one."""
    return [
        [
            f"`{one['recipe']}`",
            f"{one['texts']:,}",
            f"{one['found']:,}",
            f"{one['exhaustive']:,}",
            str(Rate(one["found"], one["exhaustive"])),
            ", ".join(f"{many:,.0f}" for many in one["queries"]),
        ]
        for one in held["cells"]
    ]


def _write(out: str, found: Mapping[str, Any]) -> None:
    Path(out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    what, out, *given = sys.argv[1:]
    if what == "table":
        _write(out, keep(map(Path, given)))
    else:
        import malaprop as mp

        _write(out, compare_searches(given[0], mp.victim(given[1]), texts=150, recipes=("textfooler", "pwws")))
