"""The table of best defences."""

from __future__ import annotations

import json
from pathlib import Path

from malaprop_bench import defended

KEPT = Path(__file__).parents[2] / "docs/measured/defences"


def test_a_model_of_which_no_defence_was_tested_has_no_column():
    both = [
        json.loads((KEPT / name / "defences.json").read_text(encoding="utf-8")) for name in ("sst2-BERT", "mr-BERT")
    ]
    both[1] |= {"rows": [row for row in both[1]["rows"] if row["name"] == "none"]}
    head, _, *rows = defended.table_lines(both)
    assert [cell.strip() for cell in head.split("|")[2:-1]] == ["MiniLM, SST-2"]
    assert "`reject`" in rows[2]


def test_a_model_that_no_defence_helps_says_so():
    test = json.loads((KEPT / "mr-CNN-valid" / "defences.json").read_text(encoding="utf-8"))
    _, _, *rows = defended.table_lines([test], validity="valid", models=defended.MODELS)
    assert [row.split("|")[2].strip() for row in rows] == ["77.8%", "72.2%", defended.NONE, "–", "–", "–"]


def test_no_gain_against_valid_attacks_is_beyond_chance():
    """docs/defences.md and docs/hardening.md say so of every defence, not of the best alone."""
    gains = [
        row["kept"]["low"]
        for file in KEPT.glob("*/defences.json")
        if (test := json.loads(file.read_text(encoding="utf-8"))).get("validity") == "valid"
        for row in test["rows"]
        if row["name"] != "none"
    ]
    assert len(gains) > 10
    assert max(gains) <= 0
