"""Attacks tried in turn: each on what those before it did not break."""

from __future__ import annotations

import pytest
from toy import attack_all, examples, listed, only

from malaprop.attacks.attack import Together, try_in_turn
from malaprop.attacks.constraints.edits import MaxWords
from malaprop.attacks.recipes import RECIPES
from malaprop.core.errors import SettingError
from malaprop.frame.records.outcome import from_json, to_json
from malaprop.frame.records.summary import Summary
from malaprop.frame.runs.make_attack import recipe

CHEAP = listed({"fine": ("poor",)}, name="cheap")
DEAR = listed({"good": ("awful",), "film": ("movie",)}, name="dear", constraints=(MaxWords(count=1),))
BOTH = try_in_turn("both", [CHEAP, DEAR])
TEXTS = ("a fine film", "a good film", "a great film", "a good good good film")


def test_each_is_tried_on_what_still_stands():
    found = attack_all(BOTH, examples(TEXTS))
    assert [o.status for o in found] == ["success", "success", "failed", "failed"]
    assert [o.by for o in found] == ["cheap", "dear", None, None]
    assert [o.adversarial.text for o in found[:2]] == ["a poor film", "a awful film"]
    assert Summary.of(found).by == {"cheap": 1, "dear": 1}
    assert Summary.of(found).under_attack.hits == 2


def test_the_queries_of_all_count():
    first, second = only(CHEAP, "a good film"), only(DEAR, "a good film")
    assert only(BOTH, "a fine film").queries.asked == only(CHEAP, "a fine film").queries.asked
    assert only(BOTH, "a good film").queries.asked == first.queries.asked + second.queries.asked - 1  # the original


def test_a_budget_is_for_all_of_them_together():
    asked = only(CHEAP, "a good film").queries.asked
    cut = only(BOTH.but(budget=asked), "a good film")
    assert (cut.status, cut.queries.asked) == ("failed", asked)
    assert only(BOTH.but(budget=asked + 10), "a good film").by == "dear"


def test_no_more_is_left_than_under_any_single_one_at_any_width():
    some = examples(TEXTS)
    for width in (1, 3, 64):
        together = {o.id: o for o in attack_all(BOTH, some, width=width)}
        for one in (CHEAP, DEAR):
            assert all(together[o.id].status == "success" for o in attack_all(one, some) if o.status == "success")


def test_goal_and_measures_hold_for_every_stage():
    outcome = only(BOTH.but(measures=("similarity",)), "a good film")
    assert 0 < outcome.measures["similarity"] < 1
    assert from_json(to_json(outcome)) == outcome


def test_what_cannot_be_tried_in_turn():
    whole = listed(name="all at once", together=Together(side="prefix"))
    with pytest.raises(SettingError, match="all at once cannot be a part of both"):
        try_in_turn("both", [CHEAP, whole])
    with pytest.raises(SettingError, match="at least one"):
        try_in_turn("both", [])
    with pytest.raises(SettingError, match="pwwz"):
        recipe("strongest", recipes="pwwz")


def test_the_recipe_takes_others_by_name():
    made = recipe("strongest", recipes="typos,pwws", budget=50)
    assert [stage.name for stage in made.stages] == ["typos", "pwws"]
    assert (made.name, made.budget, made.candidates) == ("strongest", 50, RECIPES["typos"]().candidates)
