import json
from xml.etree import ElementTree

import pytest

from malaprop.bench.cell import Agreement, Cell
from malaprop.bench.floor import Floor
from malaprop.bench.measured import Ended, Measured
from malaprop.bench.table import RESULTS, TIMES, markdown, svg

ROWS = (("a good film", 1), ("a bad film", 0))


def side(wall, *outcomes, **more):
    made = tuple(Ended(status=s, text=t, queries=q) for s, t, q in outcomes)
    return Measured(tool="t", threads=1, wall_s=wall, model_s=wall / 2, forwarded=8, outcomes=made, **more)


OURS = side(0.5, ("success", "a fine film", 4), ("failed", "a sad film", 6), unique=9, lookup_s=0.1)
PEER = side(6.0, ("success", "a fine film", 5), ("success", "a sad film", 6), texts=("x", "y", "z"))
LEAST = Floor(seconds=2.0, batch=32, texts=3, measured=3, tokens=True)
CELL = Cell(recipe="pwws", victim="CNN-W-GloVe-1", rows=ROWS, ours=OURS, peer=PEER, floor=LEAST, ratios=(12.0,))
BARE = Cell(recipe="genetic", victim="own|model", rows=ROWS, ours=OURS, reason="the peer <broke>")


def test_ratios_are_the_peer_over_ours():
    assert CELL.faster == 12
    assert CELL.of_floor == 0.25
    assert CELL.goal == 7
    assert CELL.agreement == Agreement(2, 1, 2, 1)
    assert (BARE.faster, BARE.of_floor, BARE.goal, BARE.agreement) == (None, None, None, None)


@pytest.mark.parametrize(
    ("recipe", "victim", "goal"),
    [
        ("pwws", "BiLSTM-W-GloVe-2", 6),
        ("textfooler", "CNN-W-Random-1", 10),
        ("pwws (stock wrapper)", "BERT", 15),
        ("genetic", "BERT", None),
    ],
)
def test_goals_go_by_recipe_and_encoder(recipe, victim, goal):
    assert Cell(recipe=recipe, victim=victim, rows=()).goal == goal


def test_json_holds_both_sides():
    held = json.loads(json.dumps(CELL.to_dict()))
    assert held["ours"]["unique"] == 9
    assert held["peer"]["unique"] == 3
    assert held["peer"]["ms_per_example"] == 3000
    assert held["ours"]["changed_share"] == 0.333
    assert held["equal"] == {"rows": 2, "statuses": 1, "texts": 2, "queries": 1}
    assert BARE.to_dict()["peer"] is None


def line_of(page, head, name):
    found = [[p.strip() for p in line.strip("|").split(" | ")] for line in page.splitlines() if name in line]
    (row,) = [row for row in found if len(row) == len(head)]
    return dict(zip(head, row, strict=True))


def test_tables_have_one_full_line_a_cell():
    page = markdown([CELL, BARE], {"threads": 1})
    times, results = line_of(page, TIMES, "CNN-W"), line_of(page, RESULTS, "CNN-W")
    assert (times["times faster"], times["ours s"], times["of it look-up s"]) == ("12", "0.5", "0.1")
    assert (times["goal"], times["floor s"], times["share of floor"]) == ("7", "2", "0.25")
    assert results["success TextAttack"].startswith("100.0% (2/2")
    assert (results["asked"], results["unique"], results["forwarded"]) == ("10 / 11", "9 / 3", "8 / 8")
    assert results["equal status / text / queries"] == "1 / 2 / 1 of 2"
    bare = line_of(page, TIMES, "own\\|model")
    assert (bare["TextAttack s"], bare["times faster"], bare["goal"]) == ("-", "-", "-")
    assert "the peer <broke>" in page


def test_repeats_show_their_spread():
    cell = Cell(recipe="pwws", victim="BERT", rows=ROWS, ours=OURS, peer=PEER, ratios=(10.0, 12.0, 14.0))
    assert "| 12 (10-14) |" in markdown([cell], {})


def test_picture_is_well_formed_and_has_a_bar_for_each_ratio():
    root = ElementTree.fromstring(svg([CELL, BARE]))
    bars = [e for e in root.iter() if e.get("class") == "bar"]
    assert len(bars) == 1
    assert float(bars[0].get("width")) > 100
    assert len(list(ElementTree.fromstring(svg([])).iter())) > 3
