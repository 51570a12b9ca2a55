"""Accuracy of a model behind a memory of queries under attack: `python -m malaprop_bench.remembered OUT STUDY` keeps
figures of a folder of `malaprop study defences`, by defence and run. A run that did not end is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from malaprop.frame.records.summary import Rate

HEAD = ("defence", "attack", "broken", "right under attack")


def read_statuses(file: Path) -> dict[str, str]:
    """Return the status of the attack on each text, by id."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {line["id"]: line["status"] for line in lines if "status" in line}


def keep(study: Path) -> dict[str, Any]:
    """Return for each defence the number of texts that are right, broken by each attack, and right under all."""
    runs: dict[str, dict[str, dict[str, str]]] = {}
    for file in sorted(study.glob("*/*/outcomes.jsonl")):
        runs.setdefault(file.parts[-3], {})[file.parts[-2]] = read_statuses(file)
    texts = max(len(found) for defence in runs.values() for found in defence.values())
    out: dict[str, Any] = {"texts": texts, "defences": {}}
    for defence, attacks in runs.items():
        whole = {name: found for name, found in attacks.items() if len(found) == texts}
        clean = sum(status in ("failed", "success") for status in next(iter(whole.values())).values())
        left = set.intersection(*({one for one, s in found.items() if s == "failed"} for found in whole.values()))
        broken = {name: sum(status == "success" for status in found.values()) for name, found in whole.items()}
        out["defences"][defence] = {"clean": clean, "broken": broken, "left": len(left)}
        if cut := {name: len(found) for name, found in attacks.items() if name not in whole}:
            out["defences"][defence]["unfinished"] = cut
    return out


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each defence and attack, and one for all attacks together."""
    texts, out = held["texts"], []
    for defence, found in held["defences"].items():
        for attack, broken in found["broken"].items():
            left = Rate(found["clean"] - broken, texts)
            out.append([f"`{defence}`", f"`{attack}`", str(Rate(broken, found["clean"])), str(left)])
        out.append([f"`{defence}`", "all of them", "", str(Rate(found["left"], texts))])
    return out


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(keep(Path(sys.argv[2])), indent=1) + "\n", encoding="utf-8")
