"""The attacks of SeqAttack (Simoncini and Spanakis 2021) by name, as settings of our recipes.

SeqAttack wraps TextAttack's recipes for entity recognition, and lets no negation and no word with other than ASCII
letters change. Differs: words of entities never change freely here (SeqAttack keeps them in DeepWordBug alone), and its
CLARE only replaces, as insertions and merges would move the tags. SCPN writes a new sentence and is left out for that
reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from malaprop.attacks.attack import Attack
from malaprop.frame.runs.make_attack import protect, recipe

_NEGATIONS = ("no", "not", "nor", "none", "never", "neither", "nobody", "nothing", "nowhere", "cannot")
_SHORT_NEGATIONS = "re:\\w+n['\u2019]t"
_OTHER_LETTERS = r"re:\S*[^\x00-\x7F]\S*"


class Preset(NamedTuple):
    """A recipe with settings, the query budget, and whether words with other than ASCII letters stay."""

    recipe: str
    settings: Mapping[str, Any]
    budget: int = 2500
    ascii: bool = True


PRESETS = {
    "seqattack:deepwordbug": Preset("deepwordbug:textattack", {}, budget=512, ascii=False),
    "seqattack:textfooler": Preset("textfooler:textattack", {}),
    "seqattack:bae": Preset("bae:textattack", {}),
    "seqattack:bert-attack": Preset("bert-attack:textattack", {"count": 48}),
    "seqattack:clare": Preset("clare:textattack", {}),
    "seqattack:morpheus": Preset("morpheus:textattack", {}),
}


def make(name: str, settings: Mapping[str, Any], budget: int | None) -> Attack:
    """Return the attack of a recipe or of one of SeqAttack's presets; a budget that is given replaces the preset's."""
    if name not in PRESETS:
        return recipe(name, budget=budget, **settings)
    preset = PRESETS[name]
    made = recipe(preset.recipe, budget=budget or preset.budget, **{**preset.settings, **settings})
    kept = (*_NEGATIONS, _SHORT_NEGATIONS, *((_OTHER_LETTERS,) if preset.ascii else ()))
    return protect(made, kept).but(name=name)
