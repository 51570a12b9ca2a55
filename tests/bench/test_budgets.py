"""What attacks on labels alone reach by query budget: cells, the table, and the picture made of them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from malaprop_bench import budgets
from malaprop_bench.budgets import BudgetCell

from malaprop.core.errors import RecordError

DOCS = Path(__file__).parents[2] / "docs"
RECORD = DOCS / "measured" / "labels-alone.json"


def cells(victim="v"):
    return [
        BudgetCell(
            victim=victim, recipe=recipe, budget=budget, data="mr:test", texts=10, right=8,
            broken=min(8, 2 + at + (recipe == "pwws")), changed=0.25, queries=40,
        )
        for recipe in budgets.RECIPES
        for at, budget in enumerate(budgets.BUDGETS)
    ]  # fmt: skip


def test_cells_are_kept_in_order_and_the_last_of_each_counts(tmp_path):
    path = tmp_path / "cells.json"
    assert budgets.read(path) == []
    made = cells()
    budgets.write(path, [*reversed(cells()), *made])
    assert budgets.read(path) == made
    path.write_text("[]")
    with pytest.raises(RecordError, match="measure"):
        budgets.read(path)


def test_rows_and_gaps_are_read_from_the_cells(tmp_path):
    budgets.write(tmp_path / "cells.json", cells())
    held = json.loads((tmp_path / "cells.json").read_text())
    rows = budgets.rows(held)
    assert [row[1] for row in rows] == [f"`{name}`" for name in budgets.RECIPES]
    assert rows[1][2:8] == [f"{b / 8:.1%} ({b}/8)" for b in (2, 3, 4, 5, 6, 7)]
    assert rows[1][8:] == ["25.0%", "40"]
    (line,) = budgets.gap_lines(held)
    assert "87.5% (7/8" in line
    assert "75.0% (6/8" in line
    assert "12.5 and 12.5 points less" in line


def test_the_picture_of_the_page_is_drawn_from_its_record():
    made = budgets.draw(budgets.read(RECORD))
    assert (DOCS / "labels-alone.svg").read_text(encoding="utf-8") == made
    assert len(ElementTree.fromstring(made).findall(".//{*}polyline")) == 2 * len(budgets.RECIPES)


def test_labels_alone_come_within_a_few_points_of_scores():
    at = {(c.victim, c.recipe): c for c in budgets.read(RECORD) if c.budget == 1000}
    for (victim, recipe), cell in at.items():
        scores = at[victim, "pwws"]
        assert cell.right == scores.right >= 100
        assert 100 * (scores.broken - cell.broken) / cell.right <= 5, (victim, recipe)
