"""The attacks of the paper's studies (section 3.1): WordNet synonyms of the same part of speech, no language model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import WordNetSynonyms
from malaprop.core.errors import SettingError
from malaprop.frame.runs.make_attack import recipe

GENETIC = "genetic:wordnet"
_OF_VECTORS = ("language_model", "neighbours", "distance")


def study_recipe(name: str, **settings: Any) -> Attack:
    """A recipe by name: any, and `genetic:wordnet`, the genetic attack of the paper, with the words that `pwws` takes.

    `genetic` alone is the recipe of that name, with counter-fitted neighbours. `pwws` has no fallback unless asked for.
    """
    if name != GENETIC:
        return recipe(name, **({"fallback": False, **settings} if name == "pwws" else settings))
    if given := [setting for setting in _OF_VECTORS if setting in settings]:
        raise SettingError(
            f"{GENETIC} takes its words from WordNet, so {given[0]} would do nothing; leave it out, or take --attack "
            "genetic"
        )
    return replace(recipe("genetic", **{"until": False, **settings}), name=GENETIC, candidates=WordNetSynonyms())
