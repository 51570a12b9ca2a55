"""The records of `strongest` and of quality=strict, made from run folders, and what their tables say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import toy
from malaprop_bench import ensembled, strictness
from toy import examples, listed

from malaprop.attacks.attack import try_in_turn
from malaprop.data.base import of
from malaprop.runs.folder import run_to_folder

MEASURED = Path(__file__).parents[2] / "docs" / "measured"
CHEAP = listed({"fine": ("poor",)}, name="cheap")
DEAR = listed({"fine": ("awful",), "good": ("awful",), "film": ("movie", "picture")}, name="dear")
TEXTS = ("a fine film", "a good film", "a great film")


def test_figures_of_runs_side_by_side(tmp_path):
    data = replace(of(examples(TEXTS)), name="texts.csv")
    for attack in (CHEAP, DEAR, try_in_turn("strongest", [CHEAP, DEAR])):
        run_to_folder(attack, toy.victim(), data, tmp_path / attack.name)
    (cell,) = ensembled.keep([tmp_path])["cells"]
    counts = {name: (one["broken"], one["correct"]) for name, one in cell["recipes"].items()}
    assert counts == {"cheap": (1, 3), "dear": (2, 3), "strongest": (2, 3)}
    assert cell["recipes"]["strongest"]["by"] == {"cheap": 1, "dear": 1}
    assert ensembled.best_single(cell["recipes"]) == "dear"
    (row,) = ensembled.rows({"cells": [cell]})
    assert row[:2] == ["toy, texts", "3"]
    assert row[2].startswith("33.3% (1/3")
    assert row[-1] == "cheap 1, dear 1"


def test_pairs_are_measured_both_ways(tmp_path, monkeypatch):
    class Judge:
        label_names = ("contradiction", "entailment", "neutral")

        def predict(self, pairs):
            return np.eye(3)[[1 if "poor" in two or "poor" in one else 0 for one, two in pairs]]

    monkeypatch.setattr("malaprop.runs.victims.victim", lambda _: Judge())
    monkeypatch.setattr(strictness, "read_vectors", lambda texts, _: dict(zip(texts, toy.encode(texts), strict=True)))
    monkeypatch.setattr(strictness, "read_perplexities", lambda texts: {text: float(len(text)) for text in texts})
    for attack in (DEAR, replace(CHEAP, name="dear:strict")):
        run_to_folder(attack, toy.victim(), of(examples(TEXTS)), tmp_path / attack.name.replace(":", "-"))
    held = strictness.keep([tmp_path], "nli")
    assert list(held["recipes"]) == ["dear", "dear:strict"]
    told = {name: (one["broken"], one["entailed"], one["contradicted"]) for name, one in held["recipes"].items()}
    assert told == {"dear": (2, 0, 1), "dear:strict": (1, 1, 0)}, "pairs are of the text that both broke"
    assert [row[0] for row in strictness.rows(held)] == ["`dear`", "`dear:strict`"]


def test_strongest_leaves_no_more_than_the_best_recipe_at_under_three_times_its_queries():
    held = json.loads((MEASURED / "strongest.json").read_text())
    cells = [cell["recipes"] for cell in held["cells"] if "strongest" in cell["recipes"]]
    assert len(cells) >= 4
    for recipes in cells:
        whole, best = recipes["strongest"], recipes[ensembled.best_single(recipes)]
        assert whole["broken"] >= best["broken"]
        assert whole["queries"] < 3 * best["queries"]


def test_over_all_recipes_strict_pairs_are_entailed_more_and_contradicted_less_often():
    recipes = json.loads((MEASURED / "quality.json").read_text())["recipes"]
    forms = ([one for name, one in recipes.items() if name.endswith(":strict") is strict] for strict in (False, True))
    paper, strict = ({what: sum(one[what] for one in some) for what in some[0]} for some in forms)
    assert (paper["pairs"], strict["pairs"]) == (48, 48)
    assert (paper["entailed"], strict["entailed"]) == (16, 24)
    assert (paper["contradicted"], strict["contradicted"]) == (19, 9)
    assert strict["broken"] < paper["broken"]
    page = (MEASURED.parent / "quality.md").read_text(encoding="utf-8")
    assert "24 of 48 pairs entailed both ways where the papers' have 16, and 9 contradicted where they have 19" in page
