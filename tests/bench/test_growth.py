"""How cost grows: a cell is measured, powers are right, and the page shows the record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from malaprop_bench import growth, scaled
from malaprop_bench.page import filled

DOCS = Path(__file__).parents[2] / "docs"
HELD = json.loads((DOCS / "measured" / "growth.json").read_text())


def cells(axis: str, *figures: tuple[int, float], texts: int = 4) -> list[dict]:
    at = {"recipe": "pwws", "axis": axis, "texts": texts}
    return [at | {axis: size, "seconds": seconds, "asked": 100} for size, seconds in figures]


def test_powers_by_hand():
    assert growth.grows(cells("words", (5, 9.0), (10, 1.0), (20, 4.0))) == pytest.approx(2)
    assert growth.grows(cells("labels", (10, 1.0), (1000, 1.0))) == pytest.approx(0)
    assert growth.grows(cells("texts", (10, 1.0), (100, 10.0))) == pytest.approx(1)  # ten times the texts


def test_a_cell_searches_to_its_end(monkeypatch):
    monkeypatch.setattr(growth, "cut_texts", lambda words, many: ["so good a film " * (words // 4)] * many)
    cell = growth.measure("deepwordbug", "words", 12)
    assert (cell["words"], cell["labels"], cell["texts"], cell["statuses"]) == (12, 2, 8, ["failed"])
    assert cell["asked"] > 8 * 12
    assert cell["seconds"] > 0


def test_the_record_has_every_cell_and_no_attack_succeeded():
    sizes = {(c["recipe"], c["axis"], c[c["axis"]]) for c in HELD["cells"]}
    assert sizes == {(r, axis, n) for r in growth.RECIPES for axis, many in growth.AXES.items() for n in many}
    assert {status for cell in HELD["cells"] for status in cell["statuses"]} == {"failed"}


@pytest.mark.parametrize("axis", growth.AXES)
def test_a_row_for_each_recipe(axis):
    rows = growth.rows(HELD, axis)
    assert [row[0] for row in rows] == [*growth.RECIPES]
    assert all(len(row) == len(growth.HEAD) for row in rows)


def test_the_page_shows_the_records_of_growth_and_scale():
    page = (DOCS / "appendix" / "performance.md").read_text(encoding="utf-8")
    assert page.count("../measured/growth.json") == 3
    assert page.count("../measured/scale.json") == 2
    assert filled(page, DOCS / "appendix")[0] == page


def test_what_the_page_says_of_a_million_texts():
    held = json.loads((DOCS / "measured" / "scale.json").read_text())
    assert all(one["equal"] == one["compared"] and one["code"] == 0 and one["kills"] for one in held["ray"])
    assert all(one["last"]["most_megabytes"] <= 1500 for one in held["ray"])
    executor = max(one["driver_us"] for one in held["simulated"])
    assert executor <= 50 < min(map(scaled.cost, held["ray"]))
    assert min(one["efficiency"] for one in held["simulated"] if one["workers"] == 64) >= 0.9
    assert len({one["outcomes"] for one in held["simulated"] if one["texts"] == 1_000_000}) == 1, "kills change nothing"
    assert f"reaches ({executor:.0f} us, below)" in (DOCS / "appendix" / "performance.md").read_text(encoding="utf-8")
