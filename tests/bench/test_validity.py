"""Attacks as published stand beside valid ones on the same texts; each figure is a count of outcomes."""

import json
from pathlib import Path

import pytest
from malaprop_bench import validity

from malaprop.frame.records import Outcome, Queries, Side
from malaprop.frame.records.run import Run


def outcome(status, meaning=None, asked=4):
    side = Side(fields={"text": "a"}, prediction=0, scores=(0.9, 0.1))
    changed = Side(fields={"text": "b"}, prediction=1, scores=(0.1, 0.9)) if status != "skipped" else None
    return Outcome(
        id=f"{status}{meaning}{asked}", status=status, label=0, original=side, adversarial=changed,
        queries=Queries(asked=asked), changed_share=0.1, meaning=meaning,
    )  # fmt: skip


def run(**parts):
    return Run(recipe="pwws", victim="LSTM", data="mr", n=4, parts=parts)


def test_a_row_needs_both_runs_and_counts_verdicts():
    paper = validity._cell(run(), [outcome("success", 0.9), outcome("success", 0.1, 9), outcome("skipped")])
    valid = validity._cell(run(judge={"floor": 0.65}), [outcome("success", 0.9), outcome("failed", asked=6)])
    assert (paper["validity"], paper["kept"], paper["changed"], paper["queries"]) == ("paper", 1, 1, 6.5)
    assert validity.rows({"cells": [paper]}) == []
    (row,) = validity.rows({"cells": [paper, valid]})
    assert row[:3] == ["mr", "LSTM", "`pwws`"]
    assert [cell.split()[0] for cell in row[3:8]] == ["100.0%", "100.0%", "50.0%", "50.0%", "50.0%"]
    assert row[8] == "6 and 5"


def test_runs_of_a_model_and_recipe_are_compared_on_the_texts_that_all_have(monkeypatch):
    held = {
        "paper": (run(), [outcome("success", 0.9), outcome("failed")]),
        "valid": (run(judge={"floor": 0.65}), [outcome("failed"), outcome("success", 0.7, 9)]),
    }
    monkeypatch.setattr(validity, "find_runs", list)
    monkeypatch.setattr(validity.Run, "read", lambda folder: held[folder][0])
    monkeypatch.setattr(validity, "outcomes_of", lambda folder: held[folder][1])
    cells = validity.keep(["paper", "valid"])["cells"]
    assert [(one["validity"], one["texts"], one["broken"]) for one in cells] == [("paper", 1, 0), ("valid", 1, 0)]


def test_a_search_is_compared_with_every_text_of_its_candidates(toy_examples, toy_victim, monkeypatch):
    import malaprop as mp
    from malaprop.attacks import validity as kinds

    monkeypatch.setattr(kinds, "set_validity", lambda attack, kind: attack)  # without guards, a judge and their assets
    monkeypatch.setattr(mp, "load", lambda *_, **__: toy_examples)
    found = validity.compare_searches("toy", toy_victim, texts=2, recipes=("deepwordbug",))
    (cell,) = found["cells"]
    assert cell["found"] + cell["only_found"] <= cell["texts"]
    assert cell["exhaustive"] >= cell["found"]
    (row,) = validity.search_rows(found)
    assert row[0] == "`deepwordbug`"


def test_what_the_page_says_of_ambiguous_words_is_in_the_reader_s_labels():
    docs = Path(__file__).parents[2] / "docs"
    pairs = json.loads((docs / "measured/valid-guard.json").read_text(encoding="utf-8"))["pairs"]
    page = " ".join((docs / "validity.md").read_text(encoding="utf-8").split())
    made = [one for one in pairs if one["made"]]
    left = [one["read"] == "kept" for one in made if not one["refused"]]
    kept = sum(one["read"] == "kept" for one in made)
    assert f"had called {kept} of {len(made)} successes kept" in page
    assert (
        f"refuse {len(made) - len(left)} of the {len(made)}; the reader accepted {sum(left)} of the other {len(left)}"
        in page
    )
    assert (kept - sum(left)) / kept == pytest.approx(0.1, abs=0.01), "another tenth of the good ones"
    other = [one["read"] == "kept" for one in pairs if not one["made"]]
    spared = [one["read"] == "kept" for one in pairs if not one["made"] and not one["refused"]]
    said = (
        f"Of {len(other)} successes on other texts {sum(other)} were kept; it leaves {len(spared)}, with {sum(spared)}."
    )
    assert said in " ".join((docs / "appendix/attacks.md").read_text(encoding="utf-8").split())
