"""Any string through whole attacks: no crash, and every outcome a valid record."""

from __future__ import annotations

import random

import pytest
import toy
from fuzz import fuzzed

from malaprop.attacks.recipes import RECIPES
from malaprop.core.example import number_rows
from malaprop.frame.records.outcome import from_json, to_json

ATTACKS = {name: RECIPES[name]() for name in ("deepwordbug", "homoglyph", "keyboard")} | {"listed": toy.listed()}


def rest_of_seven(texts):
    """Scores by the sum of the characters' codes modulo seven, which nearly every edit moves."""
    rest = [sum(map(ord, text)) % 7 / 6 for text in texts]
    return [[1 - p, p] for p in rest]


def attack_fuzzed(attack, count: int) -> None:
    rng = random.Random(11)
    ends = ["", " good", " a fine film", "great", "film\ud800"]
    strings = [fuzzed(rng) + rng.choice(ends) for _ in range(count)]
    labels = [int(p > 0.5) for _, p in rest_of_seven(strings)]
    rows = list(number_rows(({"text": text}, label) for text, label in zip(strings, labels, strict=True)))
    outcomes = toy.attack_all(attack, rows, toy.victim(rest_of_seven), width=64)
    assert len(outcomes) == count
    for row, outcome in zip(rows, outcomes, strict=True):
        line = to_json(outcome)
        assert from_json(line) == outcome
        line.encode("utf-8")
        assert outcome.original.fields == row.fields
        if outcome.status == "error":
            assert "surrogate" in outcome.reason or "no word" in outcome.reason, outcome.reason
        else:
            assert outcome.original.prediction is not None
    assert {"success", "error"} <= {outcome.status for outcome in outcomes}


@pytest.mark.parametrize("name", ATTACKS)
def test_fuzzed_strings_through_an_attack(name):
    attack_fuzzed(ATTACKS[name], 60)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_two_thousand_fuzzed_strings_through_an_attack(name):
    attack_fuzzed(ATTACKS[name], 2_000)
