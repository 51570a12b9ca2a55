"""Searches over many texts: particle swarm and the improved genetic search."""

from __future__ import annotations

import pytest
import toy
from toy import attack_all, listed

from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.swarm import Swarm
from malaprop.core.errors import SettingError

TWO = {"good": ("fine", "nice"), "great": ("fine", "okay"), "fine": ("okay", "poor")}
CHAIN = {"great": ("good",), "good": ("fine",), "fine": ("bad",)}


@pytest.mark.parametrize("search", [Swarm(size=8, rounds=6), Swarm(size=4, rounds=6, anew=True)])
def test_a_swarm_finds_what_takes_several_words(search):
    rows = toy.examples(["a good fine fine film"])
    (outcome,) = attack_all(listed({"good": ("okay",), "fine": ("poor",)}, search=search), rows)
    assert outcome.status == "success"
    assert len(outcome.edits) >= 2


def test_a_swarm_that_asks_anew_asks_more():
    rows = toy.examples(["great great great good good film film"])
    asked = []
    for anew in (False, True):
        (outcome,) = attack_all(listed(TWO, search=Swarm(size=6, rounds=4, anew=anew)), rows)
        asked.append(outcome.queries.asked)
    assert asked[0] < asked[1]


def test_a_word_that_is_replaced_again_takes_a_neighbour_of_what_stands_there():
    rows = toy.examples(["great film film film"])
    plain = Genetic(size=4, rounds=6, until=True, share=1.0, times=3)
    assert attack_all(listed(CHAIN, search=plain), rows)[0].status == "failed"
    chained = Genetic(size=4, rounds=6, until=True, share=1.0, times=3, chain=True)
    (outcome,) = attack_all(listed(CHAIN, search=chained), rows)
    assert outcome.status == "success"
    assert [(e.before, e.after) for e in outcome.edits] == [("great", "bad")]
    with pytest.raises(SettingError, match="times above 1"):
        Genetic(chain=True)


def test_the_improved_search_begins_with_one_text_for_each_word():
    rows = toy.examples(["good fine film"])
    table = {"good": ("awful",), "fine": ("okay",), "film": ("movie",)}
    (outcome,) = attack_all(listed(table, search=Genetic(times=5, until=True)), rows)
    assert outcome.status == "success"
    assert outcome.queries.asked == 1 + 3  # the original and one synonym for each word: no sixty members


def test_the_improved_search_keeps_the_share():
    rules = (MaxShare(share=0.2, up=True),)
    rows = toy.examples(["great great good good film film film film film film"])
    (outcome,) = attack_all(listed(TWO, search=Genetic(size=6, rounds=5, until=True, times=5), constraints=rules), rows)
    assert len(outcome.edits) <= 2
