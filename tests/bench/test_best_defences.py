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
