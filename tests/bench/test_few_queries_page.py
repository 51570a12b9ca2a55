"""The page of few queries says what its record holds."""

from __future__ import annotations

import json
from pathlib import Path

from malaprop_bench import fewqueries, page

DOCS = Path(__file__).parents[2] / "docs"
RECORD = json.loads((DOCS / "measured/few-queries.json").read_text(encoding="utf-8"))


def test_the_page_is_filled_from_its_record():
    text = (DOCS / "suites.md").read_text(encoding="utf-8")
    assert page.filled(text, DOCS)[0] == text
    assert "few-queries.json few-queries -->" in text


def test_few_queries_reach_the_success_of_pwws_with_half_of_its_median():
    runs = {(run["victim"], run["data"], run["recipe"]): run for run in RECORD["runs"]}
    cells = {key[:2] for key in runs}
    assert {data for _, data in cells} == {"mr", "ag_news"}
    for cell in cells:
        base = runs[*cell, "pwws"]
        assert base["success"]["total"] >= (40 if cell == ("BERT", "ag_news") else 100)
        for recipe, most in (("local", 0.55 if cell == ("BERT", "ag_news") else 0.5), ("bayes", 0.5)):
            mine = runs[*cell, recipe]
            assert mine["success"]["total"] == base["success"]["total"]
            assert mine["success"]["hits"] >= base["success"]["hits"]
            assert mine["queries"]["asked"]["median"] <= base["queries"]["asked"]["median"] * most


def test_a_row_has_its_share_of_the_median():
    shown = fewqueries.rows(RECORD)
    assert len(shown[0]) == len(fewqueries.HEAD)
    assert [row[6] for row in shown if "[pwws]" in row[2]] == [""] * (len(shown) // 3)
    assert all(row[6].endswith("%") for row in shown if "[pwws]" not in row[2])
