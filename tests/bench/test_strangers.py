"""What a memory of queries costs others, and what its page says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from malaprop_bench import page, remembered, strangers

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "appendix/defences.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("tiny_assets")
def test_texts_that_are_alike_are_rejected_and_counted():
    forms = [(f"gripping story told with warmth wit clever dialogue number{n}",) for n in range(9)]
    others = [(f"word{n} sky{n} sea{n} land{n}",) for n in range(20)]
    found = strangers.measure([*forms, *others], 4)
    assert (found["rejected"], found["texts"]) == (5, 29)


def test_the_tables_of_the_page_are_those_of_the_records():
    assert page.filled(PAGE, DOCS / "appendix")[0] == PAGE
    assert PAGE.count("strangers.json ") + PAGE.count("remembered.json ") >= 2


def test_what_the_page_says_of_people_who_attack_nothing():
    (held,) = page.read(DOCS / "measured/strangers.json")
    shares = {name: found["5"]["rejected"] / found["5"]["texts"] for name, found in held["streams"].items()}
    assert f"at most {100 * max(shares.values()):.2f}% of them are rejected with a limit of 5" in " ".join(PAGE.split())


def test_what_the_page_says_of_attacks():
    (held,) = page.read(DOCS / "measured/remembered.json")
    text, texts = " ".join(PAGE.split()), held["texts"]
    none, hard, guarded = held["defences"].values()
    both = ("textfooler", "pwws")
    plain, sure, direct = (
        [found["broken"][f"{attack}{way}"] for attack in both]
        for found, way in ((guarded, ""), (guarded, "-surrogate"), (hard, ""))
    )
    assert f"MiniLM on {texts} test texts" in text
    assert (
        f"{plain[0]} and {plain[1]} of {guarded['clean']} texts, where they break {direct[0]} and {direct[1]}" in text
    )
    assert f"what he is sure of still breaks {sure[0]} and {sure[1]}" in text
    left = [f"{100 * found['left'] / texts:.1f}%" for found in (guarded, hard, none)]
    assert f"{left[0]} are right under all of these, {left[1]} without the memory and {left[2]} without any" in text
    guide = " ".join((DOCS / "detection.md").read_text(encoding="utf-8").split())
    assert f"On {texts} texts of MR" in guide
    assert f"classifies {left[0]} correctly under all attacks, {left[1]} without the memory and {left[2]}" in guide


def test_what_the_page_says_of_validation_texts():
    (held,) = page.read(DOCS / "measured/remembered-validation.json")
    found = {(run["attack"], run["limit"], run["way"], run["margin"]): run["broken"] for run in held["runs"]}
    assert {run["right"] for run in held["runs"]} == {44}
    text = " ".join(PAGE.split())
    five, two, hidden = (
        [found[attack, *rest] for attack in ("textfooler", "pwws")]
        for rest in ((5, "surrogate", 0.4), (2, "surrogate", 0.4), (5, "disguise", 0.2))
    )
    assert f"of 44 validation texts a limit of 5 let {five[0]} and {five[1]} be broken so" in text
    assert f"a limit of 2, which answers one such text, {two[0]} and {two[1]}" in text
    assert f"it broke {hidden[0]} of the 44 validation texts, PWWS in disguise {hidden[1]}" in text


def test_runs_of_a_study_are_added_up_and_unfinished_ones_left_out(tmp_path):
    ends = {"a": "sffk", "b": "fsfk", "cut": "ss"}
    for name, letters in ends.items():
        folder = tmp_path / "guarded" / name
        folder.mkdir(parents=True)
        said = {"s": "success", "f": "failed", "k": "skipped"}
        lines = [json.dumps({"id": str(n), "status": said[letter]}) for n, letter in enumerate(letters)]
        (folder / "outcomes.jsonl").write_text("\n".join(lines) + "\n")
    found = remembered.keep(tmp_path)
    assert found == {
        "texts": 4,
        "defences": {"guarded": {"clean": 3, "broken": {"a": 1, "b": 1}, "left": 1, "unfinished": {"cut": 2}}},
    }
    assert [row[-1].split()[0] for row in remembered.rows(found)] == ["50.0%", "50.0%", "25.0%"]
