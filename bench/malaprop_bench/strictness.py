"""What quality=strict costs and gains: `python -m malaprop_bench.strictness OUT NLI FOLDER...` measures runs of audits.

NLI is a victim for pairs with the labels entailment, neutral and contradiction. Each run is one recipe on one victim;
those of a recipe and of its strict form are put side by side. Pairs are measured of texts that both forms broke.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from malaprop.attacks.quality import STRICT
from malaprop.records.outcome import Outcome
from malaprop.records.run import Run
from malaprop.records.store import find_runs, outcomes_of
from malaprop.records.summary import Rate

MOST = 34  # pairs of a recipe that are measured, of texts that both of its forms broke
HEAD = (
    "recipe",
    "attack success rate",
    "words changed",
    "pairs",
    "entailed both ways",
    "contradicted",
    "MPNet",
    "USE",
    "perplexity ratio, median",
)
Pair = tuple[str, str]
Key = tuple[str, str]  # victim and text


def keep(folders: Iterable[Path], nli: str) -> dict[str, Any]:
    """The figures of every recipe and of its strict form, by their runs below these folders."""
    runs: dict[str, dict[Key, Outcome]] = {}
    for folder in find_runs(list(folders)):
        run = Run.read(folder)
        runs.setdefault(run.recipe, {}).update({(run.victim, one.id): one for one in outcomes_of(folder)})
    found: dict[str, Any] = {}
    for name in sorted(name for name in runs if name.endswith(STRICT) and name.removesuffix(STRICT) in runs):
        forms = {one: runs[one] for one in (name.removesuffix(STRICT), name)}
        won = [{key for key, one in form.items() if one.status == "success"} for form in forms.values()]
        both = sorted(set.intersection(*won), key=lambda key: (key[1], key[0]))[:MOST]
        found |= {one: _figures(form, both, nli) for one, form in forms.items()}
    return {"nli": Path(nli).name, "recipes": found}


def _figures(found: Mapping[Key, Outcome], both: Sequence[Key], nli: str) -> dict[str, Any]:
    attacked = [one for one in found.values() if one.status in ("success", "failed")]
    broken = [one for one in attacked if one.status == "success"]
    pairs = [(one.original.text, one.adversarial.text) for one in map(found.__getitem__, both) if one.adversarial]
    return {
        "correct": len(attacked),
        "broken": len(broken),
        "queries": round(fmean(one.queries.asked for one in attacked), 1),
        "changed": round(fmean(one.changed_share for one in broken), 4),
        "pairs": len(pairs),
        **measure(pairs, nli),
    }


def measure(pairs: Sequence[Pair], nli: str) -> dict[str, float]:
    """Entailment, similarity and perplexity of originals and what became of them."""
    return {
        **_entail(pairs, nli),
        "mpnet": _compare(pairs, "mpnet"),
        "use": _compare(pairs, "use"),
        "perplexity": _surprise(pairs),
    }


def _entail(pairs: Sequence[Pair], nli: str) -> dict[str, float]:
    """How many pairs entail each other in both directions, and how many contradict in one of them."""
    from malaprop.runs.victims import victim

    judge = victim(nli)
    names = [name.lower() for name in judge.label_names]
    there, back = (np.asarray(judge.predict(list(rows))).argmax(1) for rows in (pairs, [(b, a) for a, b in pairs]))
    yes, no = names.index("entailment"), names.index("contradiction")
    return {
        "entailed": int(((there == yes) & (back == yes)).sum()),
        "contradicted": int(((there == no) | (back == no)).sum()),
    }


def _compare(pairs: Sequence[Pair], name: str) -> float:
    from malaprop.models.encoders.encoder import open_encoder

    encoder = open_encoder(name)
    one, two = (encoder.encode([pair[side] for pair in pairs]) for side in (0, 1))
    return round(float((one * two).sum(1).mean()), 4)


def _surprise(pairs: Sequence[Pair]) -> float:
    from malaprop.models.encoders.language_model import open_language_model

    model = open_language_model()
    before, after = (model.perplexity([pair[side] for pair in pairs]) for side in (0, 1))
    return round(float(median((after / before).tolist())), 3)


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """A line for each form of each recipe."""
    return [
        [
            f"`{name}`",
            str(Rate(one["broken"], one["correct"])),
            f"{one['changed']:.1%}",
            str(one["pairs"]),
            str(Rate(one["entailed"], one["pairs"])),
            str(Rate(one["contradicted"], one["pairs"])),
            *(f"{one[encoder]:.3f}" for encoder in ("mpnet", "use")),
            f"{one['perplexity']:.2f}",
        ]
        for name, one in held["recipes"].items()
    ]


if __name__ == "__main__":
    out, nli, *folders = sys.argv[1:]
    Path(out).write_text(json.dumps(keep(map(Path, folders), nli), indent=1) + "\n", encoding="utf-8")
