"""Searches for small query budgets: what they find, and for how many queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import toy
from toy import attack_all, listed

from malaprop.attacks.ranking.order import LeftToRight, Saliency
from malaprop.attacks.search.bayes import Bayes, Surrogate, improve
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.local import LocalSearch
from malaprop.core.errors import SettingError

MANY = {word: (*(f"{word}{i}" for i in range(12)), "bad") for word in ("good", "great", "nice", "film", "the", "plot")}
TEXT = "the good film the great plot the nice film"
PWWS = Greedy(rank=Saliency(peer=True))


def test_few_queries_reach_what_asking_everything_does():
    rows = toy.examples([TEXT, "a good film", "the great plot", "nice nice good"])
    searches = {"all": PWWS, "local": LocalSearch(), "bayes": Bayes()}
    outcomes = {name: attack_all(listed(MANY, search=search), rows) for name, search in searches.items()}
    for name in ("local", "bayes"):
        assert [o.status for o in outcomes[name]] == [o.status for o in outcomes["all"]] == ["success"] * 4
        asked = [sum(o.queries.asked for o in outcomes[key]) for key in (name, "all")]
        assert asked[0] < asked[1] / 2


def test_words_that_a_success_does_not_need_are_put_back():
    table = {"good": ("awful",), "fine": ("okay",), "nice": ("okay",)}
    rows, search = toy.examples(["nice fine good"]), LocalSearch(rank=LeftToRight())
    (kept,) = attack_all(listed(table, search=replace(search, restore=False)), rows)
    (short,) = attack_all(listed(table, search=search), rows)
    assert len(kept.edits) == 3
    assert [(e.before, e.after) for e in short.edits] == [("good", "awful")]
    (other,) = attack_all(listed(table, search=Bayes()), rows)
    assert [(e.before, e.after) for e in other.edits] == [("good", "awful")]


def test_local_search_mends_a_choice_that_was_too_quick():
    # of the first word the first pass asks one synonym, which gains enough; the goal needs the other
    table, rows = {"great": ("fine", "poor"), "nice": ("okay",)}, toy.examples(["great nice"])
    (outcome,) = attack_all(listed(table, search=LocalSearch(each=1, enough=0.01)), rows)
    assert outcome.status == "success"
    assert "poor" in outcome.adversarial.text
    (single,) = attack_all(listed(table, search=LocalSearch(each=1, enough=0.01, passes=0)), rows)
    assert single.status == "failed"


def test_the_surrogate_knows_what_it_saw_and_is_unsure_of_the_rest():
    seen = np.asarray([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 2]])
    effects = np.asarray([1.0, 2.0, 3.0, -1.0])
    model = Surrogate.fit(seen, effects, np.zeros(3))
    nothing = np.zeros(3, np.int64)
    means, spreads = model.expect(nothing, np.asarray([0, 1, 2, 2]), np.asarray([1, 1, 2, 1]))
    assert means[:3] == pytest.approx([1, 2, -1], abs=0.05)
    assert spreads[:3].max() < spreads[3] / 5
    assert -1 < means[3] < 0  # another word in a slot whose loss was seen to cost
    (both,), _ = model.expect(np.asarray([1, 0, 0]), np.asarray([1]), np.asarray([1]))
    assert both == pytest.approx(3, abs=0.05)
    hopes = improve(np.asarray([0.0, 0.0, 2.0]), np.asarray([1e-6, 1.0, 1.0]), 1.0)
    assert hopes[0] < hopes[1] < hopes[2]
    assert hopes == pytest.approx([0, 0.0833155, 1.0833155], abs=1e-5)


def test_blocks_are_tried_in_the_order_of_what_their_loss_gains():
    rows = toy.examples(["film film film film good"])
    (outcome,) = attack_all(listed({"good": ("bad",), "film": ("movie", "picture")}, search=Bayes(block=1)), rows)
    assert outcome.status == "success"
    assert outcome.queries.asked == 1 + 5 + 1 + 1  # the original, five blocks, the last one's word, a synonym


def test_settings_out_of_range_are_refused():
    for wrong in ({"each": 0}, {"enough": 0.0}, {"passes": -1}):
        with pytest.raises(SettingError):
            LocalSearch(**wrong)
    with pytest.raises(SettingError):
        Bayes(batch=0)
    with pytest.raises(SettingError, match="before the walk"):
        Greedy(rank=Saliency(), fetch="there")
