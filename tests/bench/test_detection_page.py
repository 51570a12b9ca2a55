"""The page of detection says what its record holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from malaprop_bench import detected, page

DOCS = Path(__file__).parents[2] / "docs"
TEXT = " ".join((DOCS / "appendix/defences.md").read_text(encoding="utf-8").split())
RECORD = json.loads((DOCS / "measured/detect.json").read_text(encoding="utf-8"))


def test_the_page_is_filled_from_its_record():
    text = (DOCS / "appendix/defences.md").read_text(encoding="utf-8")
    assert page.filled(text, DOCS / "appendix")[0] == text
    assert text.count("detect.json ") == 2


def test_what_the_page_says_of_the_best_detector():
    found = {
        (one["victim"], one["texts"], run["recipe"], run["goal"], one["method"]): run
        for one in RECORD["scores"]
        for run in one["runs"]
    }
    lstm = {key[1:]: run for key, run in found.items() if key[0].startswith("LSTM")}
    assert all(run["caught"]["total"] >= 85 for run in found.values())
    for method in ("all", "near"):
        for recipe in ("pwws", "textfooler"):
            assert lstm["ag_news", recipe, "untargeted", method]["auc"] >= 0.98
        assert lstm["mr", "pwws", "untargeted", method]["auc"] >= 0.9
        for texts in ("mr", "ag_news"):
            assert lstm[texts, "pwws", "confident:0.9", method]["auc"] >= 0.8
    news = [lstm["ag_news", recipe, "untargeted", "cloze"]["auc"] for recipe in ("pwws", "textfooler")]
    assert f"`cloze` has an AUC of {news[0]:.3f} on PWWS and {news[1]:.3f} on TextFooler there" in TEXT
    others = {key: run for key, run in found.items() if not key[-1].startswith("cloze")}
    assert all(run["auc"] < 0.9 for key, run in others.items() if key[1:3] == ("mr", "textfooler"))
    bert = {key[1:4]: run for key, run in found.items() if key[0].startswith("BERT") and key[-1].startswith("cloze")}
    mr, news = ([run["auc"] for key, run in bert.items() if key[0] == texts] for texts in ("mr", "ag_news"))
    assert f"an AUC of {mr[0]:.3f} on PWWS and {mr[1]:.3f} on TextFooler of MR, and {news[0]:.3f} and" in TEXT
    assert f"and {news[1]:.3f} of AG News" in TEXT
    assert f"it is {min(mr[2:]):.3f} and more on MR, and {min(news[2:]):.3f} and more on AG News" in TEXT
    near, one, both = (
        [lstm["mr", recipe, "untargeted", method] for recipe in ("pwws", "textfooler")]
        for method in ("near", "cloze", "cloze, --attack pwws,textfooler")
    )
    assert [round(10 * run["caught"]["hits"] / run["caught"]["total"]) for run in near] == [6, 4]
    assert [run["caught"]["hits"] / run["caught"]["total"] for run in one] == pytest.approx([0.75, 0.56], abs=0.01)
    assert f"of MR is {one[1]['auc']:.3f} and, having learnt from both, {both[1]['auc']:.3f}" in TEXT
    assert len(detected.rows(RECORD)[0]) == len(detected.HEAD)


def test_what_the_page_says_of_attacks_that_see_the_detector():
    left = {}
    for one in RECORD["evaded"]:
        assert one["knowing"]["hits"] < one["plain"]["hits"]  # it leaves less
        key = (one["victim"].split()[0], one["texts"], one["method"].split(",")[0], one["recipe"])
        left[key] = (one["knowing"]["hits"], one["unguarded"]["under"]["hits"])
    both = ("pwws", "textfooler")
    (one, alone), (two, other) = (left["LSTM-W-GloVe-1", "mr", "all", recipe] for recipe in both)
    assert f"and `all` {one} of 100 texts stay right under PWWS and {two} under TextFooler, where {alone} and" in TEXT
    assert f"and {other} do without a detector. With BERT" in TEXT
    (one, alone), (two, other) = (left["BERT", "mr", "fgws", recipe] for recipe in both)
    assert f"and `fgws` it is {one} and {two}, where {alone} and {other} do without" in TEXT
    (one, alone), (two, other) = (left["LSTM-W-GloVe-1", "ag_news", "wdr", recipe] for recipe in both)
    assert f"{one} of 100 stay right under PWWS and {two} under TextFooler, with the LSTM and `wdr`" in TEXT
    assert f"`wdr`, where {alone} and {other} do without" in TEXT
    (one, alone), (two, other) = (left["LSTM-W-GloVe-1", "mr", "cloze", recipe] for recipe in both)
    assert f"`cloze` leaves {one} of 100 texts of MR right with the LSTM, where {alone} do without a detector" in TEXT
    assert f"Under TextFooler that sees it, it is {two}, where {other} do" in TEXT
    assert [row["rejected_clean"] for row in RECORD["evaded"] if row["method"].startswith("cloze")] == [3, 3]


def test_what_the_guide_and_the_summary_say():
    guide = " ".join((DOCS / "detection.md").read_text(encoding="utf-8").split())
    scores = {
        (one["texts"], run["recipe"]): run
        for one in RECORD["scores"]
        for run in one["runs"]
        if one["victim"].startswith("BERT") and one["method"].startswith("cloze") and run["goal"] == "untargeted"
    }
    both = [f"{scores['mr', recipe]['auc']:.3f}" for recipe in ("pwws", "textfooler")]
    assert f"its AUC is {both[0]} on PWWS and {both[1]} on TextFooler of MR, and above 0.99 on both of AG News" in TEXT
    assert all(scores["ag_news", recipe]["auc"] > 0.99 for recipe in ("pwws", "textfooler"))
    assert f"AUC of {both[0]} on PWWS and {both[1]} on TextFooler" in guide
    (seen,) = [row for row in RECORD["evaded"] if row["method"].startswith("cloze") and row["recipe"] == "textfooler"]
    plain, knowing = (seen[name]["hits"] for name in ("plain", "knowing"))
    assert f"classifies {plain} of {seen['plain']['total']} texts of MR correctly" in guide
    assert f"the attack does not know the detector, and {knowing} if it sees the score" in guide
