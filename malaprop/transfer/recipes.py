"""The attacks of the paper's studies (section 3.1): WordNet synonyms of the same part of speech, no language model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import WordNetSynonyms
from malaprop.core.errors import SettingError
from malaprop.runs.api import recipe


def study_recipe(name: str, **settings: Any) -> Attack:
    """A recipe by name. `genetic` takes its words from WordNet here, where it has counter-fitted neighbours elsewhere;
    `pwws` does so anyway; all others are as they are."""
    if name == "genetic" and settings.get("language_model"):
        raise SettingError(
            "the transfer study's genetic attack goes without a language model; leave language_model out"
        )
    made = recipe(name, **settings)
    return replace(made, candidates=WordNetSynonyms()) if name == "genetic" else made
