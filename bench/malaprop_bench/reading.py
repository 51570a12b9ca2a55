"""Measure how the successes of each recipe read: `python -m malaprop_bench.reading OUT FOLDER...`, on runs of audits.

The first texts that a recipe broke are read, every text once by each model; perplexities that the audit measured are
taken from there. Mistakes of grammar are those that were not in the original.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from malaprop.assets.measures import why_not
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import find_runs, outcomes_of
from malaprop.frame.records.summary import Rate
from malaprop_bench.strictness import Pair, read_perplexities, read_vectors

MOST = 16  # successes of a recipe that are read
HEAD = (
    "recipe",
    "attack success rate",
    "words changed",
    "similarity",
    "perplexity ratio, median",
    "mistakes of grammar added, mean",
    "queries, median",
)


def keep(folders: Iterable[Path], most: int = MOST) -> dict[str, Any]:
    """Return the figures of every recipe, from its run below these folders."""
    runs: dict[str, Sequence[Outcome]] = {}
    for folder in find_runs(list(folders)):
        found = outcomes_of(folder)
        if any(one.status in ("success", "failed") for one in found):
            runs.setdefault(Run.read(folder).recipe, found)
    pairs = {name: find_pairs(found)[:most] for name, found in sorted(runs.items())}
    texts = list(dict.fromkeys(text for some in pairs.values() for pair in some for text in pair))
    vectors, surprise = read_vectors(texts, "minilm"), find_perplexities(runs.values())
    surprise |= read_perplexities([text for text in texts if text not in surprise])
    reason = why_not("grammar")
    mistakes = None if reason else _count_mistakes(texts)
    return {
        "grammar": reason or _name_checker(),
        "recipes": {
            name: {
                **_count(runs[name]),
                "read": len(some),
                "similarity": _round(fmean, [float(vectors[one] @ vectors[two]) for one, two in some]),
                "perplexity": _round(median, [surprise[two] / surprise[one] for one, two in some]),
                "grammar": _round(fmean, [mistakes[two] - mistakes[one] for one, two in some] if mistakes else []),
            }
            for name, some in pairs.items()
        },
    }


def find_pairs(found: Iterable[Outcome]) -> list[Pair]:
    """Return the originals and adversarial texts of successes in the order of their ids, without empty texts."""
    broken = sorted((one for one in found if one.status == "success" and one.adversarial), key=lambda one: one.id)
    pairs = [(one.original.text, one.adversarial.text) for one in broken if one.adversarial is not None]
    return [pair for pair in pairs if pair[1].strip()]


def find_perplexities(runs: Iterable[Iterable[Outcome]]) -> dict[str, float]:
    """Return the perplexity of each text that the audit measured."""
    found = {}
    for one in (one for run in runs for one in run):
        if one.adversarial is not None and "perplexity" in one.measures:
            found[one.original.text] = one.measures["perplexity_before"]
            found[one.adversarial.text] = one.measures["perplexity"]
    return found


def _count(found: Sequence[Outcome]) -> dict[str, Any]:
    attacked = [one for one in found if one.status in ("success", "failed")]
    broken = [one for one in attacked if one.status == "success"]
    return {
        "correct": len(attacked),
        "broken": len(broken),
        "queries": median(one.queries.asked for one in attacked) if attacked else 0,
        "changed": _round(fmean, [one.changed_share for one in broken]),
    }


def _round(mean: Any, values: Sequence[float]) -> float | None:
    return round(float(mean(values)), 4) if values else None


def _count_mistakes(texts: Sequence[str]) -> dict[str, int]:
    from malaprop.assets.measures import open_checker

    return dict(zip(texts, open_checker().mistakes(texts), strict=True))


def _name_checker() -> str:
    from malaprop.assets.measures import open_checker

    return type(open_checker()).__name__


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each recipe, with a dash if it has no texts to read."""
    return [
        [
            f"[{name}](../recipes/{name.replace('*', '-star')}.md)",
            str(Rate(one["broken"], one["correct"])),
            "-" if one["changed"] is None else f"{one['changed']:.1%}",
            _show(one["similarity"], ".3f"),
            _show(one["perplexity"], ".2f"),
            _show(one["grammar"], "+.2f"),
            f"{one['queries']:,.0f}",
        ]
        for name, one in held["recipes"].items()
    ]


def _show(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


if __name__ == "__main__":
    out, *folders = sys.argv[1:]
    Path(out).write_text(json.dumps(keep(map(Path, folders)), indent=1) + "\n", encoding="utf-8")
