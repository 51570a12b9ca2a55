"""The records of `strongest` and of quality=strict, made from run folders, and what their tables say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import toy
from malaprop_bench import ensembled, longtexts, reading, strictness
from malaprop_bench.measured import Ended, Measured
from toy import examples, listed

from malaprop.attacks.attack import try_in_turn
from malaprop.data.base import of
from malaprop.frame.runs.folder import run_to_folder

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

    monkeypatch.setattr("malaprop.frame.runs.victims.victim", lambda _: Judge())
    monkeypatch.setattr(strictness, "read_vectors", lambda texts, _: dict(zip(texts, toy.encode(texts), strict=True)))
    monkeypatch.setattr(strictness, "read_perplexities", lambda texts: {text: float(len(text)) for text in texts})
    for attack in (DEAR, replace(CHEAP, name="dear:strict")):
        run_to_folder(attack, toy.victim(), of(examples(TEXTS)), tmp_path / attack.name.replace(":", "-"))
    held = strictness.keep([tmp_path], "nli")
    assert list(held["recipes"]) == ["dear", "dear:strict"]
    told = {name: (one["broken"], one["entailed"], one["contradicted"]) for name, one in held["recipes"].items()}
    assert told == {"dear": (2, 0, 1), "dear:strict": (1, 1, 0)}, "pairs are of the text that both broke"
    assert [row[0] for row in strictness.rows(held)] == ["`dear`", "`dear:strict`"]
    assert strictness.count_edits("a fine film", "a poor movie") == 2
    assert held["recipes"]["dear:strict"]["edits"] == 1


def test_what_every_recipe_broke_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "read_vectors", lambda texts, _: dict(zip(texts, toy.encode(texts), strict=True)))
    monkeypatch.setattr(reading, "read_perplexities", lambda texts: {text: float(len(text)) for text in texts})
    monkeypatch.setattr(reading, "why_not", lambda _: "")
    checker = SimpleNamespace(mistakes=lambda texts: [text.count("awful") for text in texts])
    monkeypatch.setattr("malaprop.assets.measures.open_checker", lambda: checker)
    never = listed({"nothing": ("much",)}, name="never")
    for attack in (DEAR, never):
        run_to_folder(attack, toy.victim(), of(examples(TEXTS)), tmp_path / attack.name)
    held = reading.keep([tmp_path])
    dear = held["recipes"]["dear"]
    assert (dear["broken"], dear["correct"], dear["read"], dear["grammar"]) == (2, 3, 2, 1.0)
    assert [row[3:6] for row in reading.rows(held) if "never" in row[0]] == [["-", "-", "-"]]
    monkeypatch.setattr(reading, "why_not", lambda _: "grammar needs a library")
    held = reading.keep([tmp_path])
    assert (held["grammar"], held["recipes"]["dear"]["grammar"]) == ("grammar needs a library", None)


def test_figures_of_long_texts_come_from_the_files_of_single_runs(tmp_path):
    ended = (Ended(status="success", text="a", queries=10), Ended(status="failed", text="b", queries=30))
    made = Measured(
        tool="malaprop", threads=1, wall_s=9, model_s=1, forwarded=40, outcomes=ended, processor_s=5, texts=("a", "b")
    )
    made.write(tmp_path / "pwws (our defaults).json")
    held = longtexts.keep([tmp_path])
    assert held == {"recipes": {"pwws": {"texts": 2, "broken": 1, "queries": 20.0, "processor_s": 2.5}}}
    assert longtexts.rows(held) == [["[pwws](recipes/pwws.md)", "2", "1", "20", "2.5"]]


def test_strongest_leaves_no_more_than_the_best_recipe_at_under_three_times_its_queries():
    held = json.loads((MEASURED / "strongest.json").read_text())
    cells = [cell["recipes"] for cell in held["cells"] if "strongest" in cell["recipes"]]
    assert len(cells) >= 6
    for recipes in cells:
        whole, best = recipes["strongest"], recipes[ensembled.best_single(recipes)]
        assert whole["broken"] >= best["broken"]
        assert whole["queries"] < 3 * best["queries"]


def test_over_all_recipes_strict_pairs_are_entailed_more_and_contradicted_less_often():
    recipes = json.loads((MEASURED / "quality.json").read_text())["recipes"]
    forms = ([one for name, one in recipes.items() if name.endswith(":strict") is strict] for strict in (False, True))
    paper, strict = ({what: sum(one[what] for one in some) for what in some[0]} for some in forms)
    assert (paper["pairs"], strict["pairs"]) == (182, 182)
    assert (paper["entailed"], strict["entailed"]) == (60, 76)
    assert (paper["contradicted"], strict["contradicted"]) == (89, 59)
    assert strict["broken"] < paper["broken"]
    assert [round(some["edits"] / 3, 1) for some in (paper, strict)] == [1.5, 2.2]
    page = (MEASURED.parent / "attacks.md").read_text(encoding="utf-8")
    assert (
        "76 of 182 pairs entailed both ways where the papers' have 60, and 59 contradicted where they have 89" in page
    )


def test_every_recipe_on_words_or_characters_has_its_figures_and_ends_on_long_texts():
    read = json.loads((MEASURED / "reading.json").read_text())["recipes"]
    assert len(read) >= 31
    assert all(one["read"] == min(reading.MOST, one["broken"]) for one in read.values())
    assert {name for name, one in read.items() if one["similarity"] is None} == {
        name for name, one in read.items() if not one["broken"]
    }
    long = json.loads((MEASURED / "long-texts.json").read_text())["recipes"]
    assert len(long) >= 30
    assert all(one["texts"] and one["processor_s"] < 60 for one in long.values())
