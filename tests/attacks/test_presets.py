"""Presets: a recipe with the defaults of another toolkit or of the authors, under a name of its own."""

from __future__ import annotations

import inspect

import pytest

from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.recipes.presets import preset
from malaprop.attacks.recipes.words import pwws
from malaprop.core.errors import SettingError
from malaprop.frame.runs.make_attack import recipe

PRESETS = [name for name in RECIPES if ":" in name]


def test_what_has_a_preset_is_a_recipe():
    assert {name.partition(":")[0] for name in PRESETS} <= {name for name in RECIPES if ":" not in name}
    assert {f"{name}:textattack" for name in ("pwws", "textfooler", "genetic", "deepwordbug")} <= set(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_its_recipe_with_other_settings(name):
    base, own = RECIPES[name.partition(":")[0]], RECIPES[name]
    given, defaults = inspect.signature(own).parameters, inspect.signature(base).parameters
    assert given.keys() == defaults.keys()
    changed = {n: p.default for n, p in given.items() if p.default != defaults[n].default}
    assert changed
    made = base(**changed)
    assert made.but(name=name) == own()
    assert made != base()


def test_settings_of_a_preset_can_still_be_given():
    made = recipe("textfooler:textattack", similarity=None, cosine=0.6, budget=7)
    assert made.name == "textfooler:textattack"
    assert (made.budget, made.candidates.floor) == (7, 0.6)
    with pytest.raises(SettingError, match="no setting of recipe pwws:textattack"):
        recipe("pwws:textattack", cosine=0.5)


def test_a_wrong_name_is_told_the_right_ones():
    with pytest.raises(SettingError, match="pwws:textattack"):
        recipe("pwws:textatack")


def test_a_preset_of_settings_that_its_recipe_lacks_is_a_mistake():
    with pytest.raises(TypeError, match="takes no cosine"):
        preset("pwws:wrong", pwws, "Ours.", cosine=0.5)


def test_defaults_fall_back_to_what_the_peer_would_try():
    peers = recipe("pwws:textattack", unknown=None)
    fallback = recipe("pwws").fallback
    assert (fallback.candidates, fallback.search) == (peers.candidates, peers.search)
    assert recipe("textfooler").constraints == recipe("textfooler:textattack").constraints
