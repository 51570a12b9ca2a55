"""Recipes that follow gradients: their order, their steps, and who is refused."""

from __future__ import annotations

import numpy as np
import pytest
import toy
from toy import listed, only

from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.gradient.mixture import TokenMixture
from malaprop.attacks.gradient.swaps import SignWalk
from malaprop.attacks.ranking.order import ByGradient
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.search.greedy import Greedy, Projection
from malaprop.core.capability import Capability
from malaprop.core.errors import CapabilityError, SettingError

pytestmark = pytest.mark.usefixtures("tiny_assets")
GRADIENTS = frozenset({Capability.GRADIENTS})
TEXT = "a good film with a great fine plot"


def edits(outcome):
    return [(edit.before, edit.after) for edit in outcome.edits]


def test_one_pass_ranks_all_words_by_their_slope():
    attack = listed({"fine": ("poor",), "good": ("bad",), "great": ("awful",)}, wants=GRADIENTS)
    outcome = only(attack.but(search=Greedy(rank=ByGradient())), TEXT)
    assert edits(outcome) == [("good", "bad"), ("great", "awful")]  # the heaviest two, though `fine` comes last
    assert outcome.queries.asked == 1 + 1 + 2  # the text, the pass, and the two replacements


def test_a_share_leaves_room_for_the_least_number_of_words():
    words = {"good": ("bad",), "great": ("awful",), "fine": ("poor",)}
    texts = [only(listed(words, constraints=(MaxShare(share=0.1, least=n),)), TEXT) for n in (1, 2)]
    assert [o.status for o in texts] == ["failed", "success"]
    with pytest.raises(SettingError, match="least"):
        MaxShare(least=0)


def test_signs_are_followed_whether_a_step_gains_or_not():
    words = {"good": ("bad", "fine"), "great": ("awful", "fine"), "film": ("movie",)}
    outcome = only(listed(words, search=SignWalk(), wants=GRADIENTS), TEXT)
    assert outcome.status == "success"
    assert set(edits(outcome)) <= {("good", "bad"), ("great", "awful"), ("film", "movie")}
    few = only(listed(words, search=SignWalk(rounds=1), wants=GRADIENTS), TEXT)
    assert (few.status, few.queries.asked, few.reason) == ("failed", 3, None)  # the text, then two passes


def test_the_projection_takes_what_leads_to_the_border_and_counts_what_it_looks_at():
    words = {"good": ("great", "fine", "bad"), "great": ("awful", "good")}
    attack = listed(words, search=Projection(), wants=frozenset({Capability.EMBEDDINGS}))
    outcome = only(attack, TEXT)
    assert edits(outcome) == [("good", "bad"), ("great", "awful")]
    assert outcome.queries.asked == 1 + 2 + (2 + 1) + (3 + 1)  # text, ranking, each slot's words and the one taken
    assert only(attack.but(budget=4), TEXT).queries.asked <= 4


def test_a_mixture_ends_with_few_changes_that_turn_the_label():
    words = {"good": ("bad", "fine"), "great": ("awful", "good"), "film": ("movie",), "plot": ("story",)}
    attack = listed(words, search=TokenMixture(rounds=40, batch=4, samples=20, near=0.5), wants=GRADIENTS)
    outcome = only(attack, TEXT)
    assert outcome.status == "success"
    assert {("great", "awful"), ("good", "bad")} >= set(edits(outcome))
    assert 1 + 40 * 4 < outcome.queries.asked <= 1 + 40 * 4 + 20
    held = only(attack.but(search=TokenMixture(rounds=40, batch=4, samples=20, near=100.0)), TEXT)
    # words that are far from the original ones cost more than the label is worth; they were tried all the same
    assert (held.status, held.reason) == ("failed", None)
    assert only(attack.but(budget=25), TEXT).queries.asked <= 25


@pytest.mark.parametrize("name", ["a2t", "fd", "gbda", "geometry"])
def test_a_black_box_is_refused_before_the_first_query(name):
    from malaprop.frame.runs.local import run

    calls = toy.Calls()
    with pytest.raises(CapabilityError, match=r"needs (gradients|embeddings), which toy does not offer.*pwws"):
        list(run(RECIPES[name](), toy.victim(calls), toy.some_examples(2)))
    assert not calls.texts


def test_wrong_settings_are_refused():
    for make in (lambda: SignWalk(rounds=0), lambda: TokenMixture(rate=0), lambda: RECIPES["a2t"](words="list")):
        with pytest.raises(SettingError):
            make()
    assert np.isclose(RECIPES["a2t"](similarity="mpnet:0.8").constraints[-1].floor, 0.8)
