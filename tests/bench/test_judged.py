"""The picture of the judge of meaning is derived from its record: a curve for each kind, a dot for each band."""

import json
from pathlib import Path
from xml.etree import ElementTree

from malaprop_bench import blind, judged

from malaprop.features.defending.detection.rates import find_auc

DOCS = Path(__file__).parents[2] / "docs"


def test_the_picture_of_the_page_is_drawn_from_its_record():
    record = json.loads((DOCS / "measured/judge.json").read_text(encoding="utf-8"))
    made = judged.draw(record)
    assert (DOCS / "judge.svg").read_text(encoding="utf-8") == made
    assert "](judge.svg)" in (DOCS / "judge.md").read_text(encoding="utf-8")
    drawn = ElementTree.fromstring(made)
    assert len(drawn.findall(".//{*}circle")) == len(record["reliability"])


def test_dots_and_curves_stand_where_the_numbers_are():
    record = {
        "reliability": [{"low": 0, "high": 1, "pairs": 4, "kept": 0.5}],
        "sources": {"one": {"auc": 0.75, "roc": [[0.25, 1.0], [0.5, 1.0]]}},
    }
    drawn = ElementTree.fromstring(judged.draw(record))
    (dot,) = drawn.findall(".//{*}circle")
    assert (dot.get("cx"), dot.get("cy")) == ("173.0", "159.0"), "the middle of a square of 250 that begins at 48, 34"
    assert "50.0% (2/4" in str(dot.findtext("{*}title"))
    curve = drawn.findall(".//{*}polyline")[-1]
    assert curve.get("points") == "368.0,284.0 493.0,34.0 618.0,34.0"


def test_what_the_page_says_of_synonyms_of_another_sense_is_in_the_record():
    docs = Path(__file__).parents[2] / "docs"
    pairs = json.loads((docs / "measured/judge-pwws.json").read_text(encoding="utf-8"))["pairs"]
    kept = [one["read"] for one in pairs if one["judge"] == "kept"]
    read = sum(one["read"] == "kept" for one in pairs)
    page = " ".join((docs / "appendix/attacks.md").read_text(encoding="utf-8").split())
    assert f"Of {len(pairs)} successes of `pwws` on MR that it had called kept, a reader called {read} kept." in page
    assert f"With the rule it calls {len(kept)} kept, and {kept.count('kept')} of these are." in page


def test_what_the_page_says_of_successes_is_in_the_reader_s_labels():
    held = json.loads((DOCS / "measured/judge-textfooler.json").read_text(encoding="utf-8"))
    page = " ".join((DOCS / "judge.md").read_text(encoding="utf-8").split())
    labels = [blind.settle(one) for one in held["pairs"]]
    assert f"read {len(labels)} successes of `textfooler`" in page
    assert f"looked at the judge's chances: {labels.count('unclear')} were unclear" in page
    rows = {row[0]: row[1:] for row in blind.verdict_rows(held)}
    assert f"called {rows['kept'][0]} pairs kept" in page
    assert f"the {labels.count('kept')} pairs that the reader calls kept it is unsure in {rows['unsure'][1]}," in page
    drawn = json.loads((DOCS / "measured/judge.json").read_text(encoding="utf-8"))["sources"]["textfooler, read blind"]
    chances = {name: [one["judge"] for one in held["pairs"] if blind.settle(one) == name] for name in blind.VERDICTS}
    assert (drawn["kept"], drawn["changed"]) == (len(chances["kept"]), len(chances["changed"]))
    assert drawn["auc"] == round(find_auc(chances["changed"], chances["kept"]).value, 3)


def test_what_the_page_on_validity_says_of_cost_is_in_the_record():
    docs = Path(__file__).parents[2] / "docs"
    cost = json.loads((docs / "measured/validity.json").read_text(encoding="utf-8"))["cost"]["cpu_seconds"]
    page = " ".join((docs / "validity.md").read_text(encoding="utf-8").split())
    assert f"took {cost['valid']:.0f} s of CPU time under `valid`, and {cost['paper']:.0f} s as published" in page
