"""Attacks that see the label alone: the start, the way back to the original, and what they ask for."""

from __future__ import annotations

import numpy as np
import pytest
import toy
from toy import attack_all, examples, listed, only

from malaprop.attacks.goals.goal import LabelOnly
from malaprop.attacks.labels.hardgenetic import HardLabelGenetic
from malaprop.attacks.labels.start import RandomStart
from malaprop.attacks.labels.walks import BorderWalk, LeapStep, MatrixStep, TransitionStep
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.recipes.suites import SUITES
from malaprop.core.capability import Capability, check
from malaprop.core.errors import CapabilityError, SettingError

LABELS = frozenset({Capability.LABELS})
STEPS = (MatrixStep(), LeapStep(), TransitionStep())
SEARCHES = [HardLabelGenetic(size=6, rounds=3), *(BorderWalk(step=step) for step in STEPS)]

pytestmark = pytest.mark.usefixtures("tiny_assets")


def labels(texts):
    """What the toy victim would answer if it gave labels alone."""
    return [int(toy.weigh(text) > 0) for text in texts]


def hidden(calls=labels):
    return toy.victim(calls, labels=2, offers=LABELS)


def hard(search, table=None, **more):
    return listed(table, search=search, goal=LabelOnly(), **more)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(getattr(s, "step", s)).__name__)
def test_a_victim_of_labels_is_broken_and_words_that_are_not_needed_are_put_back(search):
    words = {"good": ("poor", "fine"), "film": ("movie", "picture"), "plot": ("story",), "cast": ("actors", "crew")}
    outcome = only(hard(search, words), "a good film with a plot and a cast and a film", hidden())
    assert outcome.status == "success"
    assert [(edit.before, edit.after) for edit in outcome.edits] == [("good", "poor")]
    assert outcome.measures["flip_queries"] <= outcome.queries.asked


@pytest.mark.parametrize("name", SUITES["labels-only"].recipes)
def test_recipes_of_the_suite_ask_for_labels_and_nothing_more(name):
    attack = RECIPES[name]()
    assert attack.needs == LABELS
    with pytest.raises(CapabilityError, match=r"needs scores.*hqa"):
        check("pwws", RECIPES["pwws"]().needs, "mine", LABELS)
    rows = examples(["a good film", "a bad film", "a great good fine film"])
    sure = attack_all(attack, rows, toy.victim(lambda texts: [[1.0 - p, 1.0 * p] for p in labels(texts)]))
    assert [(o.status, o.adversarial) for o in attack_all(attack, rows, hidden())] == [
        (o.status, o.adversarial) for o in sure
    ]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(getattr(s, "step", s)).__name__)
def test_a_label_that_no_draw_turns_is_a_failure_that_says_so(search):
    outcome = only(hard(search), "a good film", hidden(lambda texts: [1] * len(texts)))
    assert outcome.status == "failed"
    assert outcome.reason == "the label did not turn in 8 random trials"  # 3 x 3 texts less the original
    assert outcome.queries.asked == 9


def test_few_texts_are_all_tried_and_none_of_them_twice():
    calls = toy.Calls(lambda texts: [1] * len(texts))
    only(hard(BorderWalk()), "a good great film", hidden(calls))
    assert len(calls.texts) == len(set(calls.texts)) == 3**3


def test_more_trials_change_more_words_and_a_share_bounds_them():
    words = {f"w{i}": (f"v{i}", f"u{i}") for i in range(40)}
    calls = toy.Calls(lambda texts: [1] * len(texts))
    text = " ".join(words)
    start = RandomStart(trials=100, share=0.5)
    only(hard(BorderWalk(start=start), words), text, hidden(calls), label=1)
    many = [sum(new != old for new, old in zip(one.split(), text.split(), strict=True)) for one in calls.texts[1:]]
    assert len(many) == 100
    assert (min(many[:8]), max(many)) == (1, 20)
    assert np.mean(many[:20]) < np.mean(many[50:]) == 20


def test_replacements_that_lean_are_found_where_no_random_text_turns_the_label():
    words = {f"w{i}": (f"good{i}", *(f"same{i}.{k}" for k in range(19))) for i in range(12)}

    def answer(texts):  # five of the twelve words must become the one of twenty that counts
        return [int(sum(1 - 2 * w.startswith("good") for w in text.split()) > 3.5) for text in texts]

    for search in SEARCHES:
        outcome = only(hard(search, words, budget=1000), " ".join(words), hidden(answer), label=1)
        assert outcome.status == "success"
        assert outcome.queries.asked <= 1000
        assert len(outcome.edits) == 5
    calls = toy.Calls(lambda texts: [1] * len(texts))
    only(hard(SEARCHES[0], words), " ".join(words), hidden(calls), label=1)
    assert len(calls.texts) == 1 + RandomStart().trials, "what is asked to find out counts as a trial"


def test_of_a_long_text_half_the_words_go_back_at_once():
    words = {"good": ("poor",), **{f"w{i}": tuple(f"v{i}.{k}" for k in range(20)) for i in range(255)}}  # 1e338 texts
    text = " ".join(words)
    outcome = only(hard(BorderWalk(patience=0), words), text, hidden())
    assert [edit.before for edit in outcome.edits] == ["good"]
    assert outcome.queries.asked < outcome.measures["flip_queries"] + 32  # not one for each of 256 words


def test_the_budget_ends_it_with_the_nearest_so_far():
    words = {"good": ("poor", "fine"), "film": ("movie", "picture"), "plot": ("story",), "cast": ("actors", "crew")}
    text = "a good film with a plot and a cast and a film"
    sizes = [len(only(hard(BorderWalk(), words, budget=b), text, hidden()).edits) for b in (9, 12, 40)]
    assert sizes[0] >= sizes[1] >= sizes[2] == 1


def test_wrong_settings_are_refused():
    for make in (
        lambda: RandomStart(trials=0),
        lambda: BorderWalk(patience=-1),
        lambda: MatrixStep(draws=1),
        lambda: LeapStep(tries=0),
        lambda: TransitionStep(draws=0),
        lambda: HardLabelGenetic(heat=0),
        lambda: RECIPES["hqa"](words="thesaurus"),
    ):
        with pytest.raises(SettingError):
            make()
