"""Tables from `malaprop audit --json` for README and the page of figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from malaprop.frame.records.summary import Rate

HEAD = (
    "victim",
    "recipe",
    "clean accuracy",
    "accuracy under attack",
    "attack success rate",
    "words changed",
    "queries, median",
    "seconds",
)
ABOUT = {
    "pwws": "`pwws` (Ren et al. 2019) | WordNet synonyms, by weighted saliency",
    "textfooler": "`textfooler` (Jin et al. 2019) | counter-fitted neighbours, sentence similarity",
    "deepwordbug": "`deepwordbug` (Gao et al. 2018) | swapped, dropped, inserted, substituted characters",
    "typos": "`typos` (after Belinkov and Bisk 2018) | misspellings people made",
    "homoglyph": "`homoglyph` (cf. Boucher et al. 2022) | look-alike letters",
}


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each victim and recipe, with counts and intervals."""
    return [
        [
            run["victim"],
            f"[{run['recipe']}](recipes/{run['recipe']}.md)",
            *(str(_rate(run[name])) for name in ("clean_accuracy", "accuracy_under_attack", "success")),
            f"{run['changed_share']['mean']:.1%}",
            f"{run['queries']['asked']['median']:.0f}",
            f"{run['wall']:.3g}",
        ]
        for run in held["runs"]
    ]


def short_lines(held: Mapping[str, Any]) -> list[str]:
    """Return a line for each recipe with a column for each victim: accuracy under attack, then attack success rate."""
    runs = {(run["victim"], run["recipe"]): run for run in held["runs"]}
    victims = list(dict.fromkeys(victim for victim, _ in runs))
    recipes = list(dict.fromkeys(recipe for _, recipe in runs))
    clean = [f"{victim} (clean {_rate(runs[victim, recipes[0]]['clean_accuracy']).value:.0%})" for victim in victims]
    head = ["recipe", "what changes", *clean, "words changed", "median queries"]
    out = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    for recipe in recipes:
        some = [runs[victim, recipe] for victim in victims]
        cells = [f"{run['accuracy_under_attack']['value']:.0%}, {run['success']['value']:.0%}" for run in some]
        changed = _range([f"{run['changed_share']['mean']:.0%}" for run in some], "%")
        queries = _range([f"{run['queries']['asked']['median']:.0f}" for run in some])
        out.append("| " + " | ".join([ABOUT.get(recipe, f"`{recipe}` | "), *cells, changed, queries]) + " |")
    return out


def _rate(held: Mapping[str, Any]) -> Rate:
    return Rate(held["hits"], held["total"])


def _range(shown: Sequence[str], unit: str = "") -> str:
    """Return the smallest and the largest of some numbers as text."""
    least, most = min(shown, key=lambda s: float(s.strip("%"))), max(shown, key=lambda s: float(s.strip("%")))
    return least if least == most else f"{least.removesuffix(unit) if unit else least}-{most}"
