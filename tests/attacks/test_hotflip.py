"""HotFlip's searches: what they find, what they count, what they refuse, and texts that are hard to read."""

from __future__ import annotations

import numpy as np
import pytest
import toy
from toy import attack_all, only

from malaprop.attacks.goals.goal import Confident, Targeted
from malaprop.attacks.gradient.flips import FlipBeam, budget
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.recipes.hotflip import hotflip_char, hotflip_char_greedy, hotflip_word, key, key_star
from malaprop.attacks.search.slips import Slips
from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.text import Text, Words

pytestmark = pytest.mark.usefixtures("tiny_assets")


def test_one_edit_of_the_word_that_matters_most():
    outcome = only(hotflip_char(), "a fine and great film with a bad plot", label=1)
    assert outcome.status == "success"
    (edit,) = outcome.edits
    assert edit.before == "great", "it weighs more than fine"


def test_a_pass_counts_as_one_query():
    outcome = only(hotflip_char_greedy(), "fine film", label=1)
    assert outcome.status == "failed", "without `fine` the scores are even"
    passes = 1 + budget_of("fine film") + 1  # the first query, one look before each edit, one after the last
    assert outcome.queries.asked == passes
    assert outcome.queries.unique <= outcome.queries.forwarded <= passes + 1


def budget_of(text: str, share: float = 0.1) -> int:
    class Trial:
        origin = Text.of(text, Words())
        example = toy.examples([text])[0]

    return budget(Trial(), share)


@pytest.mark.parametrize(
    ("text", "edits"), [("a", 1), ("abcdefghij klmnopqrst", 2), ("x" * 29, 2), ("a b  c\n" * 10, 3)]
)
def test_a_tenth_of_the_characters(text, edits):
    assert budget_of(text) == edits


def test_no_more_edits_than_the_share_allows():
    rows = toy.examples(["good great fine nice good great fine nice film"] * 2)
    for attack in (hotflip_char(share=0.05), hotflip_char_greedy(share=0.05), key_star(share=0.05)):
        for outcome in attack_all(attack, rows):
            assert len(outcome.edits) <= 2


def test_operations_are_those_asked_for():
    for operation, sign in (("flip", 0), ("insert", 1), ("delete", -1)):
        outcome = only(hotflip_char(operations=operation), "great film bad", label=1)
        assert outcome.status == "success"
        for edit in outcome.edits:
            assert len(edit.after) - len(edit.before) == sign


def test_confidence_asks_for_more():
    text = "great film but awful and bad"
    assert only(hotflip_char(), "great film but bad", label=1).status == "success"
    sure = only(hotflip_char(confidence=0.95, share=0.5), text, label=0)
    assert sure.status == "failed" or max(sure.adversarial.scores) >= 0.95
    goal = Confident(floor=0.9)
    rows = np.asarray([[0.05, 0.95], [0.2, 0.8], [0.95, 0.05], [0.9, 0.1]], np.float32)
    assert goal.reached(rows, 0).tolist() == [True, False, False, False]
    assert goal.wrong(rows, 0).tolist() == [True, True, False, False]
    with pytest.raises(SettingError, match="floor"):
        Confident(floor=1)


def test_confidence_is_a_goal_of_any_recipe():
    from malaprop.frame.runs.make_attack import goal

    assert goal("confident:0.9") == Confident(floor=0.9)
    assert goal("confident") == Confident()
    for wrong in ("confident:x", "confident:2"):
        with pytest.raises(SettingError):
            goal(wrong)


def test_a_target_is_walked_towards():
    attack = hotflip_char(share=0.5).but(goal=Targeted(target=0))
    outcome = only(attack, "great film bad", label=1)
    assert outcome.status == "success"
    assert outcome.adversarial.prediction == 0


def test_exact_mode_finds_what_the_derivative_finds_with_more_queries():
    rows = toy.examples(["good nice film bad", "fine great plot , bad"], label=1)
    fast = attack_all(hotflip_char(share=0.3), rows)
    slow = attack_all(hotflip_char(share=0.3, exact=True), rows)
    assert [o.status for o in fast] == [o.status for o in slow] == ["success", "success"]
    assert all(s.queries.asked > 2 * f.queries.asked for f, s in zip(fast, slow, strict=True))


def test_a_beam_is_not_worse_than_greed():
    rows = toy.some_examples(40)
    attacks = (hotflip_char(share=0.2), hotflip_char_greedy(share=0.2))
    beam, greedy = (sum(o.status == "success" for o in attack_all(attack, rows)) for attack in attacks)
    assert beam >= greedy > 0


def test_slips_keep_to_their_keys():
    from malaprop.assets.lexicon import keyboard

    outcome = only(key(share=0.5), "Great film bad", label=1, seed=1)
    near = keyboard()
    assert outcome.edits
    for edit in outcome.edits:
        assert len(edit.after) == len(edit.before)
        for old, new in zip(edit.before, edit.after, strict=True):
            assert old == new or new.lower() in near[old.lower()]
            assert old.isupper() == new.isupper()


def test_slips_are_drawn_by_the_seed():
    rows = toy.examples(["great film bad", "a nice and good plot"], label=1)
    one, again, other = (attack_all(key_star(), rows, seed=s) for s in (1, 1, 2))
    assert [o.adversarial.text for o in one] == [o.adversarial.text for o in again]
    assert [o.adversarial.text for o in one] != [o.adversarial.text for o in other]


def test_words_change_within_all_constraints():
    outcome = only(hotflip_word(cosine=0.5), "the great film is bad", label=1)
    assert outcome.status == "success"
    assert [(e.before, e.after) for e in outcome.edits] == [("great", "fine")]
    assert only(hotflip_word(cosine=0.8), "the great film is bad", label=1).status == "failed"


@pytest.mark.parametrize("name", ["hotflip-char", "hotflip-char-greedy", "hotflip-word"])
def test_a_victim_without_gradients_is_refused_before_the_first_query(name):
    from malaprop.frame.runs.local import run

    calls = toy.Calls()
    instead = "pwws" if name == "hotflip-word" else r"key\* or deepwordbug"
    with pytest.raises(CapabilityError, match=instead):
        list(run(RECIPES[name](), toy.victim(calls), toy.some_examples(2)))
    assert not calls.texts


@pytest.mark.parametrize(
    "settings",
    [{"width": 0}, {"share": 0}, {"share": 1.5}, {"operations": "flip,swap"}, {"operations": ""}],
)
def test_settings_are_checked(settings):
    with pytest.raises(SettingError):
        hotflip_char(**settings)


def test_settings_of_slips_and_swaps_are_checked():
    for make in (lambda: Slips(to="far"), lambda: Slips(draws=0), lambda: key(share=2), lambda: hotflip_word(width=0)):
        with pytest.raises(SettingError):
            make()
    assert FlipBeam().width == 10
