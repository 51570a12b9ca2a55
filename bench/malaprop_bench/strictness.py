"""Measure cost and gain of quality=strict: `python -m malaprop_bench.strictness OUT NLI FOLDER...`, on runs of audits.

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
from malaprop.core.score import Floats
from malaprop.core.text import Text, Words
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import find_runs, outcomes_of
from malaprop.frame.records.summary import Rate

MOST = 100  # pairs of a recipe that are measured, of texts that both of its forms broke
HEAD = (
    "recipe",
    "attack success rate",
    "words changed",
    "pairs",
    "words changed in a pair, mean",
    "entailed both ways",
    "contradicted",
    "MPNet",
    "USE",
    "perplexity ratio, median",
)
Pair = tuple[str, str]
Key = tuple[str, str]  # victim and text


def keep(folders: Iterable[Path], nli: str, most: int = MOST) -> dict[str, Any]:
    """Return the figures of every recipe and of its strict form, from their runs below these folders."""
    runs: dict[str, dict[Key, Outcome]] = {}
    for folder in find_runs(list(folders)):
        run = Run.read(folder)
        runs.setdefault(run.recipe, {}).update({(run.victim, one.id): one for one in outcomes_of(folder)})
    pairs: dict[str, list[Pair]] = {}
    for name in sorted(name for name in runs if name.endswith(STRICT) and name.removesuffix(STRICT) in runs):
        forms = {one: runs[one] for one in (name.removesuffix(STRICT), name)}
        won = [{key for key, one in form.items() if one.status == "success"} for form in forms.values()]
        both = sorted(set.intersection(*won), key=lambda key: (key[1], key[0]))[:most]
        pairs |= {one: [_pair(form[key]) for key in both] for one, form in forms.items()}
    measured = measure(pairs, nli)
    return {"nli": Path(nli).name, "recipes": {one: {**_count(runs[one].values()), **measured[one]} for one in pairs}}


def _pair(outcome: Outcome) -> Pair:
    assert outcome.adversarial is not None  # it is a success
    return outcome.original.text, outcome.adversarial.text


def _count(found: Iterable[Outcome]) -> dict[str, Any]:
    attacked = [one for one in found if one.status in ("success", "failed")]
    broken = [one for one in attacked if one.status == "success"]
    return {
        "correct": len(attacked),
        "broken": len(broken),
        "queries": round(fmean(one.queries.asked for one in attacked), 1),
        "changed": round(fmean(one.changed_share for one in broken), 4),
    }


def measure(pairs: Mapping[str, Sequence[Pair]], nli: str) -> dict[str, dict[str, Any]]:
    """Measure entailment, similarity and perplexity of pairs of texts; a model reads each text once."""
    texts = list(dict.fromkeys(text for some in pairs.values() for pair in some for text in pair))
    verdicts = read_verdicts([*dict.fromkeys(pair for some in pairs.values() for pair in some)], nli)
    vectors = {name: read_vectors(texts, name) for name in ("mpnet", "use")}
    surprise = read_perplexities(texts)
    return {
        name: {
            "pairs": len(some),
            "edits": round(fmean(count_edits(*pair) for pair in some), 2),
            "entailed": sum(verdicts[pair] == ("entailment", "entailment") for pair in some),
            "contradicted": sum("contradiction" in verdicts[pair] for pair in some),
            **{
                encoder: round(fmean(float(known[one] @ known[two]) for one, two in some), 4)
                for encoder, known in vectors.items()
            },
            "perplexity": round(median(surprise[two] / surprise[one] for one, two in some), 3),
        }
        for name, some in pairs.items()
    }


def count_edits(before: str, after: str) -> int:
    """Count the words that differ between two texts of the same number of words."""
    table = Words()
    return len(Text.of(after, table).changed(Text.of(before, table)))


def read_verdicts(pairs: Sequence[Pair], nli: str) -> dict[Pair, tuple[str, str]]:
    """Return the verdict of the NLI model on each pair, in both directions."""
    from malaprop.frame.runs.victims import victim

    judge = victim(nli)
    names = [name.lower() for name in judge.label_names]
    there, back = (np.asarray(judge.predict(list(rows))).argmax(1) for rows in (pairs, [(b, a) for a, b in pairs]))
    both = zip(there.tolist(), back.tolist(), strict=True)
    return {pair: (names[one], names[two]) for pair, (one, two) in zip(pairs, both, strict=True)}


def read_vectors(texts: Sequence[str], name: str) -> dict[str, Floats]:
    """Return the vector of each text by an encoder."""
    from malaprop.models.encoders.encoder import open_encoder

    return dict(zip(texts, open_encoder(name).encode(texts), strict=True))


def read_perplexities(texts: Sequence[str]) -> dict[str, float]:
    """Return the perplexity of each text by a language model."""
    from malaprop.models.encoders.language_model import open_language_model

    return dict(zip(texts, open_language_model().perplexity(texts).tolist(), strict=True))


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each form of each recipe."""
    return [
        [
            f"`{name}`",
            str(Rate(one["broken"], one["correct"])),
            f"{one['changed']:.1%}",
            str(one["pairs"]),
            f"{one['edits']:.1f}",
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
