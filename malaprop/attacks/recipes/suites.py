"""Several recipes under one name: suites that an audit runs, and `strongest`, which tries recipes in turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from malaprop.attacks.attack import Attack, try_in_turn


@dataclass(frozen=True, slots=True)
class Suite:
    """The recipes of a suite, in their order."""

    recipes: tuple[str, ...]
    about: str


SUITES: dict[str, Suite] = {
    "quick": Suite(
        ("keyboard", "deepwordbug"),
        "For every change of a model: characters alone, nothing to fetch, a minute on a CPU.",
    ),
    "standard": Suite(
        ("pwws", "textfooler", "deepwordbug", "typos", "homoglyph"), "What audit runs: words and characters."
    ),
    "characters": Suite(
        ("typos", "deepwordbug", "keyboard", "homoglyph", "viper", "bad-characters"),
        "Misspellings, look-alikes and invisible changes; those of the fewest queries come first.",
    ),
    "strongest": Suite(
        ("strongest",), "Robust accuracy: recipes in turn, cheap ones first, each on the texts that still resist."
    ),
    "labels-only": Suite(
        ("hqa", "leap", "texthoaxer", "hlbb"), "For victims that give labels alone; none of them asks for a score."
    ),
}


def like_a_suite(named: Any) -> str:
    """Return the suite whose name is nearest to an unknown one; empty where none is near."""
    return next(iter(get_close_matches(str(named), SUITES, 1, 0.7)), "")


def expand_suites(named: Iterable[Any]) -> tuple[Any, ...]:
    """Replace names of suites by their recipes; each attack occurs once."""
    found: dict[Any, None] = {}
    for one in named:
        inside = SUITES[one].recipes if isinstance(one, str) and one in SUITES else (one,)
        found.update(dict.fromkeys(inside))
    return tuple(found)


STRONGEST = "deepwordbug,textfooler,bert-attack,pwws,bae,homoglyph"  # most successes for their queries first


def strongest(*, recipes: Sequence[str] | str = STRONGEST) -> Attack:
    """Recipes in turn, cheap ones first, each on the texts where all earlier ones failed; after AutoAttack for images.

    Croce and Hein 2020, "Reliable evaluation of adversarial robustness with an ensemble of diverse parameter-free
    attacks". Characters are tried first because they cost the fewest queries, then words. The queries of all recipes
    count, and they share a budget. `recipes` names others, separated by commas, in the order of their turns.
    """
    from malaprop.attacks.recipes import RECIPES

    names = [name.strip() for name in recipes.split(",")] if isinstance(recipes, str) else list(recipes)
    return try_in_turn("strongest", [RECIPES[name]() for name in names])
