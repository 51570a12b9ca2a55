"""How long `malaprop audit` on a function takes until its first query: `python -m malaprop_bench.startup OUT TREE...`.

Each turn starts the command once from every source tree, with processor seconds and the modules loaded by then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

HEAD = ("version", "runs", "processor s, median", "smallest", "largest", "modules loaded", "torch loaded")
VICTIM = """import json, os, resource, sys
def predict(texts):
    spent = resource.getrusage(resource.RUSAGE_SELF)
    found = {"s": spent.ru_utime + spent.ru_stime, "modules": len(sys.modules), "torch": "torch" in sys.modules}
    print(json.dumps(found), flush=True)
    os._exit(0)
"""


def first_query(tree: Path, home: Path) -> dict[str, Any]:
    """Start an audit of 20 texts from a source tree and return what it had spent when the victim was first asked."""
    (home / "own_victim.py").write_text(VICTIM, encoding="utf-8")
    rows = [f"a {'good' if n % 2 else 'dull'} film of number {n},{n % 2}" for n in range(20)]
    (home / "own.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "malaprop", "audit", "--victim", "own_victim:predict", "--data", "own.csv", "--quiet"],
        cwd=home, env=os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{home}"}, capture_output=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return found


def measure(trees: Mapping[str, Path], turns: int = 7) -> list[dict[str, Any]]:
    """Return a record for each source tree; the trees take turns, after one run of each that is not counted."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
    with tempfile.TemporaryDirectory() as home:
        for turn in range(turns + 1):
            for name, tree in trees.items():
                found = first_query(tree, Path(home))
                runs[name] += [found] if turn else []
    return [
        {
            "version": name,
            "seconds": [round(run["s"], 3) for run in found],
            "modules": found[-1]["modules"],
            "torch": found[-1]["torch"],
        }
        for name, found in runs.items()
    ]


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each version that was measured."""
    return [
        [
            one["version"], str(len(one["seconds"])), f"{median(one['seconds']):.2f}", f"{min(one['seconds']):.2f}",
            f"{max(one['seconds']):.2f}", str(one["modules"]), "yes" if one["torch"] else "no",
        ]
        for one in records
    ]  # fmt: skip


if __name__ == "__main__":
    asked = dict(named.split("=", 1) for named in sys.argv[2:])
    kept = measure({name: Path(tree).resolve() for name, tree in asked.items()})
    Path(sys.argv[1]).write_text("".join(json.dumps(one) + "\n" for one in kept), encoding="utf-8")
