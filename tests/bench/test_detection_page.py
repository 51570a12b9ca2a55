"""The page of detection says what its record holds."""

from __future__ import annotations

import json
from pathlib import Path

from malaprop_bench import detected, page

DOCS = Path(__file__).parents[2] / "docs"
RECORD = json.loads((DOCS / "measured/detect.json").read_text(encoding="utf-8"))


def test_the_page_is_filled_from_its_record():
    text = (DOCS / "detection.md").read_text(encoding="utf-8")
    assert page.filled(text, DOCS) == (text, 2)


def test_what_the_page_says_of_the_best_detector():
    found = {
        (one["texts"], run["recipe"], run["goal"]): run
        for one in RECORD["scores"]
        for run in one["runs"]
        if one["method"] == "all"
    }
    assert all(run["caught"]["total"] >= 100 for run in found.values())
    for recipe in ("pwws", "textfooler"):
        assert found["ag_news", recipe, "untargeted"]["auc"] >= 0.9
        assert 0.8 <= found["mr", recipe, "untargeted"]["auc"] < 0.9
        assert found["mr", recipe, "untargeted"]["auc"] < found["ag_news", recipe, "untargeted"]["auc"]
    for texts in ("mr", "ag_news"):
        assert found[texts, "pwws", "confident:0.9"]["auc"] >= 0.8
    for one in RECORD["evaded"]:
        assert one["knowing"]["hits"] < one["plain"]["hits"]  # an attack that sees the detector leaves less
    assert len(detected.rows(RECORD)[0]) == len(detected.HEAD)
