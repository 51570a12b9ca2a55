"""The figures of start-up on the page of performance, from their record."""

import json
from pathlib import Path
from statistics import median

from malaprop_bench import startup

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_says_what_the_record_holds():
    kept = [json.loads(line) for line in (DOCS / "measured/startup.jsonl").read_text().splitlines()]
    before, now = kept
    assert median(now["seconds"]) <= 1.0
    assert not now["torch"]
    assert before["torch"]
    page = (DOCS / "performance.md").read_text()
    assert f"{median(now['seconds']):.1f} s of processor time" in page
    assert startup.rows(kept)[1][1:] == ["7", "0.62", "0.60", "0.65", "576", "no"]


def test_the_first_query_is_timed_from_any_source_tree(tmp_path):
    tree = tmp_path / "tree"
    (tree / "malaprop").mkdir(parents=True)
    (tree / "malaprop/__main__.py").write_text("import own_victim\nown_victim.predict(['a'])\nraise SystemExit(3)\n")
    (tree / "malaprop/__init__.py").write_text("")
    found = startup.first_query(tree, tmp_path)
    assert 0 < found["s"] < 5
    assert found["torch"] is False
