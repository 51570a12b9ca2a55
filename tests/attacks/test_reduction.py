"""Input reduction: words go while the label stays; and goals that do not ask for another label."""

from __future__ import annotations

import numpy as np
import pytest
import toy
from toy import attack_all, listed

from malaprop.attacks.goals.goal import Doubtful, LogitSum
from malaprop.attacks.recipes.words import input_reduction
from malaprop.attacks.search.reduction import Reduction
from malaprop.core.errors import SettingError


@pytest.mark.parametrize(("peer", "left"), [(False, "good"), (True, "good bad")])  # the peer's places shift as words go
def test_all_words_go_but_one_that_holds_the_label(peer, left):
    rows = toy.examples(["the good film was bad film"], label=1)
    target = toy.victim(lambda texts: [[0.3, 0.7] if "good" in t else [0.7, 0.3] for t in texts])
    (outcome,) = attack_all(input_reduction(peer=peer), rows, target)
    assert outcome.status == "success"
    assert outcome.adversarial.text == left
    assert outcome.adversarial.prediction == outcome.label == 1
    assert outcome.measures["words_left"] == len(left.split())


def test_too_little_gone_is_a_failure_that_shows_how_far_it_came():
    target = toy.victim(lambda texts: [[0.3, 0.7] if t.count("good") >= 3 else [0.7, 0.3] for t in texts])
    (outcome,) = attack_all(input_reduction(), toy.examples(["good good a good"], label=1), target)
    assert outcome.status == "failed"
    assert outcome.adversarial.text == "good good good"
    (all_needed,) = attack_all(input_reduction(), toy.examples(["good good good"], label=1), target)
    assert all_needed.status == "failed"
    assert not all_needed.edits


@pytest.mark.parametrize("peer", [False, True])
def test_a_budget_that_ends_early_leaves_no_success_of_too_few_words(peer):
    target = toy.victim(lambda texts: [[0.3, 0.7] for _ in texts])
    for budget in (1, 2, 5, 8, 13, 30, 60):
        attack = input_reduction(peer=peer).but(budget=budget)
        (outcome,) = attack_all(attack, toy.examples(["good plain film watched again today"], label=1), target)
        assert (outcome.status == "success") == (len(outcome.edits) >= 3)
    assert outcome.status == "success"


def test_long_texts_lose_several_words_at_a_step():
    text = " ".join(["word"] * 120 + ["good"])
    asked = []
    for pace in (10, 1000):
        attack = listed(search=Reduction(width=1, pace=pace), goal=input_reduction().goal)
        (outcome,) = attack_all(attack, toy.examples([text], label=1))
        assert (outcome.status, outcome.adversarial.text) == ("success", "good")
        asked.append(outcome.queries.asked)
    assert asked[0] < asked[1] / 2


def test_doubt_is_a_lower_score_of_the_label_and_a_logit_sum_a_lower_sum():
    answers = np.asarray([[0.35, 0.65], [0.2, 0.8]], np.float32)
    assert Doubtful(ceiling=0.7).reached(answers, 1).tolist() == [True, False]
    assert Doubtful(ceiling=0.7).wrong(answers, 1).tolist() == [True, False]  # below it already: nothing to attack
    logits = np.asarray([[3.0, 4.0], [-1.0, 0.5]], np.float32)
    assert LogitSum().reached(logits, 1).tolist() == [False, True]
    assert LogitSum().values(logits, 1).tolist() == [-7.0, 0.5]
    with pytest.raises(SettingError):
        Doubtful(ceiling=0)
    with pytest.raises(SettingError):
        Reduction(share=0)
