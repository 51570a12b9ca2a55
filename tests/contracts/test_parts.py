"""What holds for every part in the tables: each entry goes through one list of checks."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
import tomllib
from inspect import get_annotations
from typing import Any

import pytest
import toy
from toy import attack_all, listed

from malaprop.attacks.attack import Attack, Own
from malaprop.attacks.candidates import CANDIDATES
from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.constraints import CONSTRAINTS
from malaprop.attacks.goals import GOALS
from malaprop.attacks.ranking import RANKINGS
from malaprop.attacks.ranking.order import LeftToRight
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.search import SEARCHES
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.sentences import Sentences
from malaprop.attacks.sentences import REWRITERS
from malaprop.attacks.sentences.rewriters import Paraphrase
from malaprop.core.capability import Capability
from malaprop.core.errors import MalapropError, SettingError
from malaprop.core.example import NO_WORDS
from malaprop.core.settings import plain, to_toml
from malaprop.features.defending.detection import DETECTORS
from malaprop.features.defending.detection.suspicion import DetectionMethod
from malaprop.frame.records.outcome import Outcome, compare_key, from_json, to_json

pytestmark = pytest.mark.usefixtures("tiny_assets")

TABLES = {
    "goal": GOALS,
    "candidates": CANDIDATES,
    "constraint": CONSTRAINTS,
    "ranking": RANKINGS,
    "search": SEARCHES,
    "rewriter": REWRITERS,
    "recipe": RECIPES,
    "detector": DETECTORS,
}
LIST = Listed(table=toy.SYNONYMS)
LEAST: dict[str, dict[str, Any]] = {  # what must be given; everything else has a default
    "targeted": {"target": 0},
    "listed": {"table": toy.SYNONYMS},
    "likely": {"of": LIST},
    "union": {"of": (LIST, LIST)},
    "agreeing": {"of": LIST},
    "filtered": {"of": LIST},
    "max-words": {"count": 2},
    "keep": {"items": ("plot", "re:[Aa]wful")},
    "first-found": {"rank": LeftToRight()},
    "sentences": {"rewriters": (Paraphrase(),)},
    "from-best": {"of": Greedy(rank=LeftToRight())},
}
WANTS = {
    "zero-vector": frozenset({Capability.PADDING}),
    "attention": frozenset({Capability.ATTENTION}),
    "gradient": frozenset({Capability.GRADIENTS}),
}
EVERY = [(kind, name) for kind, table in TABLES.items() for name in table]
VALUES = [(kind, name) for kind, name in EVERY if kind != "recipe"]
ENTRIES = [(kind, name) for kind, name in EVERY if kind != "detector"]  # attacks and their parts
OURS = re.compile(r"\b(19|20)\d\d\b|\bours\b", re.IGNORECASE)


def made(kind: str, name: str) -> Any:
    return TABLES[kind][name](**LEAST.get(name, {}))


def as_attack(kind: str, name: str) -> Attack:
    """An attack with this part in it."""
    part = made(kind, name)
    if kind == "recipe":
        return part
    if kind == "constraint":
        return listed(constraints=(part,))
    if kind == "rewriter":
        return listed(candidates=Own(), search=Sentences(rewriters=(part,)))
    if kind == "ranking":
        return listed(search=Greedy(rank=part), wants=WANTS.get(name, frozenset()))
    return listed(**{kind: part})


def small(attack: Attack) -> Attack:
    """The same attack with a population that a test can wait for."""
    if type(attack.search).__name__ in ("Genetic", "Swarm"):
        return dataclasses.replace(attack, search=dataclasses.replace(attack.search, size=6, rounds=3))
    if type(attack.search).__name__ == "DifferentialEvolution":
        return dataclasses.replace(attack, search=dataclasses.replace(attack.search, size=6, rounds=2))
    if type(attack.search).__name__ == "TokenMixture":
        return dataclasses.replace(attack, search=dataclasses.replace(attack.search, rounds=10, batch=3, samples=10))
    if type(attack.search).__name__ == "Random":
        return dataclasses.replace(attack, search=dataclasses.replace(attack.search, trials=200, block=50))
    return attack


def test_tables_are_not_empty():
    assert all(len(table) >= 3 for table in TABLES.values())


def test_no_part_wants_more_than_is_stated_here():
    for kind, name in EVERY:
        if name in LEAST:
            with pytest.raises(TypeError):
                TABLES[kind][name]()


@pytest.mark.parametrize(("kind", "name"), VALUES)
def test_parts_are_frozen_values_with_keywords(kind, name):
    part = made(kind, name)
    assert dataclasses.is_dataclass(part)
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        part.anything = 1
    for field in dataclasses.fields(part):
        assert field.kw_only
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, field.name, None)
    assert part == made(kind, name)
    assert hash(part) == hash(made(kind, name))


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_repr_is_the_config_and_plain_values_are_json_and_toml(kind, name):
    part = made(kind, name)
    assert re.fullmatch(r"\w+\(.*\)", repr(part))
    values = plain(part)
    assert json.loads(json.dumps(values)) == values
    assert tomllib.loads(to_toml({"part": values})) == {"part": values}
    assert "None" not in json.dumps(values)


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_a_part_can_go_to_another_process(kind, name):
    part = made(kind, name)
    back = pickle.loads(pickle.dumps(part))
    assert back == part
    assert repr(back) == repr(part)


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_every_entry_says_what_it_is(kind, name):
    words = TABLES[kind][name].__doc__ or ""
    assert len(words.split()) >= 3
    assert not words.startswith(f"{TABLES[kind][name].__name__}("), "the docstring that dataclass makes says nothing"


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_cite_a_paper_or_say_that_they_are_ours(name):
    words = RECIPES[name].__doc__ or ""
    assert OURS.search(words), words
    assert RECIPES[name]().name == name


@pytest.mark.parametrize("name", DETECTORS)
def test_detectors_have_the_members_of_the_protocol(name):
    members = (*get_annotations(DetectionMethod), *(one for one in vars(DetectionMethod) if not one.startswith("_")))
    assert set(members) > {"needs_attacked", "counts_words", "score"}
    assert [one for one in members if not hasattr(made("detector", name), one)] == []


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_needs_are_capabilities(kind, name):
    assert as_attack(kind, name).needs <= set(Capability)


def same(outcomes: list[Outcome]) -> list[str]:
    for outcome in outcomes:
        assert outcome.status != "error", outcome.reason
        assert from_json(to_json(outcome)) == outcome
    return [compare_key(o) for o in outcomes]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_width_and_order_do_not_change_outcomes(kind, name, toy_examples):
    attack = small(as_attack(kind, name))
    rows = toy_examples[:16]
    alone = same(attack_all(attack, rows, width=1, seed=3))
    together = same(attack_all(attack, rows[::-1], width=64, seed=3))[::-1]
    assert together == alone
    assert same(attack_all(attack, rows[::2], width=5, lanes=2, seed=3)) == alone[::2]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
@pytest.mark.parametrize("budget", [1, 2, 7])
def test_the_budget_holds(kind, name, budget, toy_examples):
    attack = small(as_attack(kind, name)).but(budget=budget)
    if attack.together is not None:
        pytest.skip(
            "its budget bounds the search for one change, not what a text asks: tests/frame/study/test_together.py"
        )
    calls = toy.Calls()
    outcomes = attack_all(attack, toy_examples[:8], toy.victim(calls))
    same(outcomes)
    assert all(outcome.queries.asked <= budget for outcome in outcomes)
    assert all(outcome.queries.unique <= outcome.queries.asked for outcome in outcomes)
    assert len(calls.texts) <= len(outcomes) * (budget + 1)


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_texts_of_no_word_and_of_one(kind, name):
    attack = small(as_attack(kind, name))
    target = toy.victim(lambda texts: [[0.2, 0.8] for _ in texts])
    rows = toy.examples(["", "?!", "fine", "Film", "x", "the", "👍 ok", "don't"], label=1)
    outcomes = attack_all(attack, rows, target)
    assert [(o.status, o.reason) for o in outcomes[:2]] == [("failed", NO_WORDS)] * 2
    if name == "kept":  # any change that such a victim does not notice
        return
    assert {o.status for o in outcomes[2:]} == {"failed"}, [o.reason for o in outcomes]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_success_means_another_label(kind, name, toy_examples):
    for outcome in attack_all(small(as_attack(kind, name)), toy_examples):
        if outcome.status == "success":
            assert outcome.edits
            (row,) = toy.predict([outcome.adversarial.text])
            if name in ("kept", "doubtful") or name.startswith(("input-reduction", "kuleshov")):
                continue  # goals of their own: tests/attacks/test_goals_kept.py
            if name == "moved":
                (was,) = toy.predict([outcome.original.text])
                assert abs(row[1] - was[1]) > 0.5
                continue
            assert outcome.adversarial.prediction != outcome.label == outcome.original.prediction
            assert outcome.adversarial.scores == pytest.approx(row, abs=1e-6)


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_refuse_settings_they_do_not_take(name):
    from malaprop.core.settings import call

    with pytest.raises(SettingError, match="no setting of"):
        call(RECIPES[name], {"no_such_setting": 1}, name)
    assert issubclass(SettingError, MalapropError)
