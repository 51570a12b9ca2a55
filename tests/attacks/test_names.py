"""The parts that `malaprop.attacks` offers by name."""

from __future__ import annotations

import ast
from dataclasses import is_dataclass
from pathlib import Path

import pytest

import malaprop.attacks
from malaprop.attacks.candidates import CANDIDATES
from malaprop.attacks.constraints import CONSTRAINTS
from malaprop.attacks.goals import GOALS
from malaprop.attacks.ranking import RANKINGS
from malaprop.attacks.search import SEARCHES


def test_an_attack_is_composed_from_one_import():
    from malaprop.attacks import Attack, Greedy, MaxChanged, Untargeted, WordNetSynonyms

    made = Attack(
        name="mine",
        goal=Untargeted(),
        candidates=WordNetSynonyms(),
        constraints=(MaxChanged(share=0.3),),
        search=Greedy(),
    )
    assert all(map(is_dataclass, (made, made.goal, made.candidates, made.search, *made.constraints)))


@pytest.mark.parametrize("catalogue", [CANDIDATES, CONSTRAINTS, GOALS, RANKINGS, SEARCHES], ids=lambda c: c.kind)
def test_every_part_of_a_catalogue_is_offered_under_its_class_name(catalogue):
    for part in catalogue.values():
        if part.__module__.startswith("malaprop."):
            assert getattr(malaprop.attacks, part.__name__) is part


def test_the_stub_names_what_is_offered_and_each_name_is_there():
    tree = ast.parse(Path(malaprop.attacks.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    places = malaprop.attacks._PLACES
    assert found == {name: f"malaprop.attacks.{module}" for module, names in places.items() for name in names.split()}
    assert sorted(found) == malaprop.attacks.__all__
    assert all(getattr(malaprop.attacks, name) for name in found)
    with pytest.raises(AttributeError, match="has no attribute 'Greddy'"):
        malaprop.attacks.Greddy  # noqa: B018
