import json
from xml.etree import ElementTree

import pytest
from malaprop_bench.cell import Agreement, Cell, Duel
from malaprop_bench.floor import Floor
from malaprop_bench.measured import Ended, Measured
from malaprop_bench.table import PROCESSOR, RESULTS, TIMES, markdown, processor_rows, svg

ROWS = (("a good film", 1), ("a bad film", 0))


def side(wall, *outcomes, **more):
    made = tuple(Ended(status=s, text=t, queries=q) for s, t, q in outcomes)
    return Measured(tool="t 1", threads=1, wall_s=wall, model_s=wall / 2, forwarded=8, outcomes=made, **more)


OURS = side(0.5, ("success", "a fine film", 4), ("failed", "a sad film", 6), unique=9, lookup_s=0.1)
PEER = side(6.0, ("success", "a fine film", 5), ("success", "a sad film", 6), texts=("x", "y", "z"))
OTHER = side(3.0, ("success", "a fine film", 5))
LEAST = Floor(seconds=2.0, batch=32, texts=3, measured=3, tokens=True)
DUELS = (("TextAttack", Duel.of([(OURS, PEER)])), ("OpenAttack", Duel.of([(OURS, OTHER)])))
CELL = Cell(
    recipe="pwws", victim="CNN-W-GloVe-1", rows=ROWS, ours=OURS, duels=DUELS, floor=LEAST, floor_of="TextAttack"
)
BARE = Cell(recipe="genetic", victim="own|model", rows=ROWS, ours=OURS, reasons=("the peer <broke>",))


def summary(*cells):
    return {"machine": "m", "terms": {"threads": 1}, "cells": [json.loads(json.dumps(c.to_dict())) for c in cells]}


def test_ratios_are_the_peers_over_ours():
    assert CELL.faster == 12
    assert CELL.of_floor == 0.25
    assert CELL.goal == 40
    assert Agreement.of(OURS, PEER) == Agreement(2, 1, 2, 1)
    assert (BARE.faster, BARE.of_floor, BARE.goal) == (None, None, None)


@pytest.mark.parametrize(
    ("recipe", "victim", "precision", "goal"),
    [
        ("pwws", "BiLSTM-W-GloVe-2", "fp32", 12),
        ("textfooler", "CNN-W-Random-1", "fp32", 40),
        ("pwws", "BERT", "fp32", 1.5),
        ("pwws", "BERT", "bf16", 3.5),
        ("pwws", "BERT", "int8", 3),
        ("pwws", "DistilBERT", "fp32", 1.3),
        ("pwws (stock wrapper)", "RoBERTa", "fp32", 15),
        ("pwws (stock wrapper)", "BERT", "fp32", 15),
        ("genetic", "BERT", "fp32", None),
    ],
)
def test_goals_go_by_recipe_encoder_and_precision(recipe, victim, precision, goal):
    assert Cell(recipe=recipe, victim=victim, rows=(), precision=precision).goal == goal


def test_json_holds_every_side():
    held = summary(CELL)["cells"][0]
    assert held["ours"]["unique"] == 9
    assert held["ours"]["changed_share"] == 0.333
    peer = held["peers"]["TextAttack"]
    assert (peer["unique"], peer["ms_per_example"], peer["faster"]) == (3, 3000, 12)
    assert peer["equal"] == {"rows": 2, "statuses": 1, "texts": 2, "queries": 1}
    assert (held["peers"]["OpenAttack"]["rows"], held["peers"]["OpenAttack"]["faster"]) == (1, 6)
    assert held["floor"]["of"] == "TextAttack"
    assert summary(BARE)["cells"][0]["peers"] == {}


def lines_of(page, head, name):
    found = [[p.strip() for p in line.strip("|").split(" | ")] for line in page.splitlines() if name in line]
    return [dict(zip(head, row, strict=True)) for row in found if len(row) == len(head)]


def test_tables_have_a_full_line_a_cell_and_one_a_side():
    page = markdown(summary(CELL, BARE))
    (times,), results = lines_of(page, TIMES, "CNN-W"), lines_of(page, RESULTS, "CNN-W")
    assert (times["times TextAttack"], times["ours s"], times["of it look-up s"]) == ("12", "0.5", "0.1")
    assert (times["OpenAttack s"], times["times OpenAttack"]) == ("3", "6 on 1")
    assert (times["goal"], times["floor s"], times["share of floor"]) == ("40", "2", "0.25")
    assert [row["tool"] for row in results] == ["ours", "TextAttack", "OpenAttack"]
    assert results[1]["attack success"].startswith("100.0% (2/2")
    assert [(row["asked"], row["unique"], row["forwarded"]) for row in results[:2]] == [
        ("10", "9", "8"),
        ("11", "3", "8"),
    ]
    assert results[1][RESULTS[-1]] == "1 / 2 / 1 of 2"
    (bare,) = lines_of(page, TIMES, "own\\|model")
    assert (bare["TextAttack s"], bare["times TextAttack"], bare["goal"]) == ("-", "-", "-")
    assert "the peer <broke>" in page
    assert "t 1" in page.splitlines()[2]  # versions stand at the top


def test_repeats_show_their_spread():
    runs = [(OURS, side(wall, ("failed", "", 1))) for wall in (5.0, 6.0, 7.0)]
    cell = Cell(recipe="pwws", victim="BERT", rows=ROWS[:1], ours=OURS, duels=(("TextAttack", Duel.of(runs)),))
    assert "| 12 (10-14) |" in markdown(summary(cell))


def test_processor_times_are_compared_beside_the_clock():
    ours = side(9.0, ("success", "a", 1), processor_s=2.0)
    theirs = [
        side(wall, ("success", "a", 1), processor_s=spent) for wall, spent in ((27.0, 5.0), (9.0, 7.0), (18.0, 6.0))
    ]
    runs = [(ours, run) for run in theirs]
    least = Floor(seconds=4.0, batch=32, texts=3, measured=3, tokens=True, processor_s=4.0)
    duels = (("TextAttack", Duel.of(runs)),)
    cell = Cell(recipe="pwws", victim="DistilBERT", rows=ROWS[:1], ours=ours, duels=duels, floor=least)
    (row,) = processor_rows([summary(cell)])
    shown = dict(zip(PROCESSOR, row, strict=True))
    assert (shown["times TextAttack"], shown["goal"], shown["times by the clock"]) == ("3 (2.5-3.5)", "1.3", "2 (1-3)")
    assert (shown["equal statuses"], shown["share of them"]) == ("1 of 1", "0.5")


def test_what_a_tool_lays_out_anew_is_not_counted_as_changed():
    ended = Ended(status="success", text="it ' s a fine film", queries=1, start="it ' s a good film")
    held = Measured(tool="t", threads=1, wall_s=1, model_s=0, forwarded=1, outcomes=(ended,))
    assert held.changed([("it's a good film", 1)]) == pytest.approx(1 / 5)


def test_picture_is_well_formed_and_has_a_bar_for_each_ratio():
    root = ElementTree.fromstring(svg(summary(CELL, BARE)))
    bars = [float(e.get("width")) for e in root.iter() if e.get("class") == "bar"]
    assert len(bars) == 2
    assert bars[0] > bars[1] > 100
    (told,) = [e.text for e in root.iter() if e.tag.endswith("desc")]
    assert "12 times TextAttack" in told
    assert len(list(ElementTree.fromstring(svg(summary())).iter())) > 3
