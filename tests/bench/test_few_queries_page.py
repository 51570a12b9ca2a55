"""What the page "How to choose attacks" says of few queries, of labels alone and of `strongest` is in the records."""

from __future__ import annotations

import json
from pathlib import Path

from malaprop_bench import budgets, ensembled, fewqueries, page

DOCS = Path(__file__).parents[2] / "docs"
RECORD = json.loads((DOCS / "measured/few-queries.json").read_text(encoding="utf-8"))


def test_the_table_of_the_appendix_is_that_of_the_record():
    text = (DOCS / "appendix/attacks.md").read_text(encoding="utf-8")
    assert page.filled(text, DOCS / "appendix")[0] == text
    assert "few-queries.json few-queries -->" in text


def test_what_the_page_says():
    text = " ".join((DOCS / "suites.md").read_text(encoding="utf-8").split())
    shares = [int(row[6].rstrip("%")) for row in fewqueries.rows(RECORD) if row[6]]
    assert f"with {min(shares)}% to {max(shares)}% of its median queries" in text
    (held,) = page.read(DOCS / "measured/strongest.json")
    rows = ensembled.rows(held)
    whole, single = ([float(row[at].split("%")[0]) for row in rows] for at in (2, 3))
    times = [round(float(row[6]), 1) for row in rows]
    assert len(rows) == 6
    assert f"robust accuracy under it is {min(whole):.0f}% to {max(whole):.0f}%, under the best single recipe " in text
    assert f"recipe {min(single):.0f}% to {max(single):.0f}%, at {min(times)} to {max(times)} times its queries" in text
    (alone,) = page.read(DOCS / "measured/labels-alone.json")
    at = budgets.HEAD.index("1,000")
    reached = {(row[0], row[1]): row[at].split(" ")[0] for row in budgets.rows(alone)}
    lstm, bert = ((reached[name, "`hqa`"], reached[name, "`pwws`"]) for name in ("LSTM-W-GloVe-1", "BERT"))
    assert f"they break {lstm[0]} of the texts of an LSTM and {bert[0]} of BERT's" in text
    assert f"breaks {lstm[1]} and {bert[1]}" in text


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
