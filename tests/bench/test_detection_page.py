"""The page of detection says what its record holds."""

from __future__ import annotations

import json
from pathlib import Path

from malaprop_bench import detected, page

DOCS = Path(__file__).parents[2] / "docs"
TEXT = " ".join((DOCS / "detection.md").read_text(encoding="utf-8").split())
RECORD = json.loads((DOCS / "measured/detect.json").read_text(encoding="utf-8"))


def test_the_page_is_filled_from_its_record():
    text = (DOCS / "detection.md").read_text(encoding="utf-8")
    assert page.filled(text, DOCS) == (text, 2)


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
    others = {key: run for key, run in found.items() if not key[-1].startswith("cloze")}
    assert all(run["auc"] < 0.9 for key, run in others.items() if key[1:3] == ("mr", "textfooler"))
    cloze = {key[1:]: run for key, run in lstm.items() if key[-1] == "cloze, --attack pwws,textfooler"}
    rates = {
        key[0]: run["caught"]["hits"] / run["caught"]["total"] for key, run in cloze.items() if key[1] == "untargeted"
    }
    assert 0.75 < rates["pwws"] < 0.85
    assert 0.63 < rates["textfooler"] < 0.7
    assert all(run["auc"] >= 0.9 for run in cloze.values())
    assert len(detected.rows(RECORD)[0]) == len(detected.HEAD)


def test_what_the_page_says_of_an_attack_that_sees_the_detector():
    mr, news, bert, cloze = RECORD["evaded"]
    for one in RECORD["evaded"]:
        assert one["knowing"]["hits"] < one["plain"]["hits"]  # it leaves less
    assert (
        f"{mr['knowing']['hits']} of 100 texts stay right with the LSTM, where {mr['unguarded']['under']['hits']}"
        in TEXT
    )
    left, rejected = bert["knowing"]["hits"], bert["rejected_clean"]
    assert f"it is {left} where {bert['unguarded']['under']['hits']} do without, and {rejected} clean texts" in TEXT
    assert f"{news['knowing']['hits']} of 100 stay right, where {news['unguarded']['under']['hits']} do" in TEXT
    left, without = cloze["knowing"]["hits"], cloze["unguarded"]["under"]["hits"]
    assert f"`cloze` leaves {left} of 100 texts right with the LSTM, where {without} do without a detector" in TEXT
    assert cloze["rejected_clean"] == 1
