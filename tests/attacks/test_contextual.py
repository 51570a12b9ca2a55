"""CLARE's search: words replaced, put in and merged; and words that are asked for when the walk comes there."""

from __future__ import annotations

from dataclasses import replace

import toy
from toy import attack_all

from malaprop.attacks.attack import Attack, Own
from malaprop.attacks.candidates.combined import Union
from malaprop.attacks.candidates.masked import MaskedWords, MergedWords
from malaprop.attacks.recipes.masked import bae, clare
from malaprop.attacks.search.contextual import Contextual
from malaprop.core.ask import MASKED_LM, Guesses
from malaprop.core.score import SLACK
from malaprop.engine.service import FunctionService

MERGES = MergedWords(least=0.0)


def test_two_words_become_one_where_their_parts_go_together():
    attack = Attack(name="toy", candidates=Own(), search=Contextual(merge=MERGES))
    (outcome,) = attack_all(attack, toy.examples(["a good film"]))
    assert outcome.status == "success"
    assert outcome.adversarial.text in ("a awful", "a terrible")  # an adjective and its noun
    (apart,) = attack_all(attack, toy.examples(["a good, film"]))
    assert apart.status == "failed"  # a comma between them
    (alone,) = attack_all(attack, toy.examples(["film good"]))
    assert alone.status == "failed"  # a noun before its adjective


def test_moves_of_three_kinds_are_made_in_the_order_of_what_they_gain():
    sources = (MaskedWords(count=5), MaskedWords(count=5, place="before"))
    attack = Attack(name="toy", candidates=Union(of=sources), search=Contextual(merge=MERGES))
    (outcome,) = attack_all(attack, toy.examples(["great good film the nice plot"]))
    assert outcome.status == "success"
    values = [toy.weigh(outcome.original.text), toy.weigh(outcome.adversarial.text)]
    assert values[1] < -SLACK < values[0]
    anew = replace(attack, search=Contextual(merge=MERGES, anew=True))
    (again,) = attack_all(anew, toy.examples(["great good film the nice plot"]))
    assert again.status == "success"
    assert len(again.edits) <= len(outcome.edits)  # it chooses again after each move


def test_a_text_that_nothing_moves_is_a_failure():
    target = toy.victim(lambda texts: [[0.2, 0.8] for _ in texts])
    for peer in (False, True):
        (outcome,) = attack_all(clare(peer=peer, similarity=None), toy.examples(["a good film"], label=1), target)
        assert outcome.status == "failed"


def test_the_masked_model_is_asked_for_the_slots_that_the_walk_comes_to(monkeypatch):
    asked: list[int] = []

    def fill(clozes):
        asked.append(len(clozes))
        return toy.fill(clozes)

    services = toy.toy_services
    monkeypatch.setattr(toy, "toy_services", lambda *a, **k: {**services(*a, **k), MASKED_LM: FunctionService(fill)})
    lazy = replace(bae(similarity=None), constraints=())
    eager = replace(lazy, search=replace(lazy.search, fetch="before"))
    rows = toy.examples(["good film nice plot fine the a film plot", "great the film"])
    outcomes = {}
    for name, attack in (("lazy", lazy), ("eager", eager)):
        asked.clear()
        outcomes[name] = [(o.status, o.adversarial.text, o.queries.asked) for o in attack_all(attack, rows)]
        outcomes[f"{name} asks"] = sum(asked)
    assert outcomes["lazy"] == outcomes["eager"]
    assert outcomes["lazy asks"] < outcomes["eager asks"] == 12


def test_a_walk_that_reads_anew_sees_what_it_changed(monkeypatch):
    seen: list[str] = []

    def fill(clozes):
        seen.extend(cloze.text for cloze in clozes)
        return [Guesses(g.words, g.logs) for g in toy.fill(clozes)]

    services = toy.toy_services
    monkeypatch.setattr(toy, "toy_services", lambda *a, **k: {**services(*a, **k), MASKED_LM: FunctionService(fill)})
    rows = toy.examples(["great great great great great"])
    for fetch, texts in (("there", 1), ("anew", 2)):
        seen.clear()
        attack = replace(bae(similarity=None), constraints=())
        attack_all(replace(attack, search=replace(attack.search, fetch=fetch)), rows)
        assert len(set(seen)) == texts or (fetch == "anew" and len(set(seen)) > 1)
