"""The table of recipes for few queries beside PWWS, from the `--json` lines of audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malaprop.frame.records.summary import Rate

HEAD = (
    "victim",
    "texts",
    "recipe",
    "attack success rate",
    "words changed",
    "queries, median",
    "of PWWS's",
    "queries, mean",
)


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each victim, set of texts and recipe; the others are compared with PWWS."""
    base = {(run["victim"], run["data"]): run["queries"]["asked"]["median"] for run in held["runs"] if _is_base(run)}
    return [
        [
            run["victim"],
            run["data"],
            f"[{run['recipe']}](recipes/{run['recipe']}.md)",
            str(Rate(run["success"]["hits"], run["success"]["total"])),
            f"{run['changed_share']['mean']:.1%}",
            f"{run['queries']['asked']['median']:.0f}",
            "" if _is_base(run) else f"{run['queries']['asked']['median'] / base[run['victim'], run['data']]:.0%}",
            f"{run['queries']['asked']['mean']:.0f}",
        ]
        for run in held["runs"]
    ]


def _is_base(run: Mapping[str, Any]) -> bool:
    return bool(run["recipe"] == "pwws")
