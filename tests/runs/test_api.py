"""The front door: what `mp.attack` and `mp.recipe` take."""

from __future__ import annotations

import pytest

import malaprop as mp
from malaprop.attacks.goals.goal import LabelOnly, Targeted

TEXTS = [("a moving film", 1)]


def predict(texts):
    return [[0.2, 0.8] if "moving" in text else [0.7, 0.3] for text in texts]


def test_a_goal_may_be_written_as_on_the_command_line():
    assert mp.recipe("keyboard", goal="label-only") == mp.recipe("keyboard", goal=LabelOnly())
    assert mp.recipe("keyboard", goal="targeted:0") == mp.recipe("keyboard", goal=Targeted(target=0))
    (outcome,) = mp.attack("keyboard", predict, TEXTS, goal="targeted:0")
    assert outcome.status == "success"
    with pytest.raises(mp.MalapropError, match="label-only"):
        mp.recipe("keyboard", goal="labelonly")


def test_settings_that_would_do_nothing_are_refused():
    with pytest.raises(mp.MalapropError, match=r"share: settings go with the name of a recipe"):
        mp.attack(mp.recipe("keyboard"), predict, TEXTS, share=0.9)


@pytest.mark.parametrize("budget", [0, 2.5, "many"])
def test_a_budget_is_a_whole_number(budget):
    with pytest.raises(mp.MalapropError, match="budget must be at least 1 query an example, a whole number"):
        mp.attack("keyboard", predict, TEXTS, budget=budget)
