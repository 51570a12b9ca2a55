"""Several recipes in turn: what is left of a model's accuracy under all of them."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.attacks.attack import Attack, try_in_turn

STRONGEST = "deepwordbug,textfooler,bert-attack,pwws,bae,homoglyph"  # what breaks most for its queries first


def strongest(*, recipes: Sequence[str] | str = STRONGEST) -> Attack:
    """Recipes in turn, cheap ones first, each on the texts that no earlier one broke; after AutoAttack for images.

    Croce and Hein 2020, "Reliable evaluation of adversarial robustness with an ensemble of diverse parameter-free
    attacks". Characters are tried first because they cost the fewest queries, then words. The queries of all count, and
    a budget is for all of them together. `recipes` are others, by their names with commas, in the order of their turns.
    """
    from malaprop.attacks.recipes import RECIPES

    names = [name.strip() for name in recipes.split(",")] if isinstance(recipes, str) else list(recipes)
    return try_in_turn("strongest", [RECIPES[name]() for name in names])
