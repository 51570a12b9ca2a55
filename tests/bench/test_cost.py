"""The cost model: rates, hours, prices, and the table in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from malaprop_bench import cost
from malaprop_bench.cost import Measured

from malaprop.core.errors import RecordError

DOCS = Path(__file__).parents[2] / "docs"


def row(**settings) -> Measured:
    given = {"machine": "core", "victim": "v", "recipe": "r", "data": "mr", "texts": 100, "seconds": 4.0, "asked": 55.4}
    return Measured(**(given | settings))


def test_hours_by_hand():
    assert row().rate == 25.0
    assert row().hours(9_000_000) == 100.0
    made = cost.table([row(), row(machine="gpu", seconds=0.5)], 9_000_000, {"gpu": 2.5}).splitlines()
    assert made[0].endswith("| hours for 9,000,000 | cost |")
    assert made[2] == "| core | v | r | mr | 100 texts in 4.0 s | 55 | 25 | 100 | - |"
    assert made[3] == "| gpu | v | r | mr | 100 texts in 0.5 s | 55 | 200 | 12 | 31 |"


def test_the_last_of_each_is_kept_and_a_wrong_file_is_refused(tmp_path):
    file = tmp_path / "x.json"
    assert cost.read(file) == []
    cost.write(file, [row(), row(recipe="a"), row(seconds=8.0)])
    assert [(r.recipe, r.seconds) for r in cost.read(file)] == [("a", 4.0), ("r", 8.0)]
    file.write_text('[{"machine": "x"}]')
    with pytest.raises(RecordError, match="does not hold measured runs"):
        cost.read(file)


def test_the_table_goes_into_its_place(tmp_path, capsys):
    file, page = tmp_path / "x.json", tmp_path / "page.md"
    cost.write(file, [row()])
    page.write_text("before\n<!-- cost -->\nold\n<!-- /cost -->\nafter\n")
    cost.main(["table", str(file), "--texts", "1000", "--into", str(page), "--price", "core=2"])
    made = cost.table([row()], 1000, {"core": 2.0})
    assert capsys.readouterr().out == made
    assert page.read_text() == f"before\n<!-- cost -->\n\n{made}\n<!-- /cost -->\nafter\n"
    with pytest.raises(RecordError, match="no place for the table"):
        cost.put("page", "x")


def test_the_documentation_shows_what_was_measured():
    page = (DOCS / "appendix/performance.md").read_text(encoding="utf-8")
    rows = cost.read(DOCS / "measured" / "cost.json")
    assert rows
    assert cost.put(page, cost.table(rows, 10_000_000)) == page
