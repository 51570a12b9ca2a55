"""What training to reject leaves under attack: measured on a small model, and shown as a table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import toy
from malaprop_bench import page, rejected

from malaprop.core.victim import REJECTED


@pytest.fixture(autouse=True)
def _small(tiny_assets, monkeypatch):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)


def test_a_line_is_written_for_each_cost_and_shown(tmp_path):
    data, file = tmp_path / "rows.csv", tmp_path / "reject.jsonl"
    with data.open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(["text", "label"])
        rows.writerows(
            [f"the {('good', 'bad')[i % 2]} film number {i}", ("positive", "negative")[i % 2]] for i in range(160)
        )
    about = ["--model", "LSTM-W-Random-1", "--data", str(data), "--texts", "4", "--device", "cpu", "--set", "epochs=1"]
    rejected.main([str(file), "reject:tries=2", *about, "--costs", "0,0.5"])
    rejected.main([str(file), "plain", *about])
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["method"], one["cost"], one["rejects"]) for one in records] == [
        ("reject:tries=2", 0.0, True), ("reject:tries=2", 0.5, True), ("plain", 0.01, False),
    ]  # fmt: skip
    for one in records:
        assert one["worst"]["hits"] <= min(left["hits"] for left in one["left"].values()) <= one["clean"]["hits"]
    made, count = page.filled("<!-- table: reject.jsonl reject -->\n<!-- end of table -->\n", tmp_path)
    assert count == 1
    assert made.count("\n| LSTM-W-Random-1") == 3
    assert REJECTED not in made


def test_the_page_says_what_its_record_holds():
    docs = Path(__file__).parents[2] / "docs"
    records = [json.loads(line) for line in (docs / "measured/reject.jsonl").read_text().splitlines()]
    mr = {(one["method"], one["cost"]): one for one in records if one["data"] == "mr-full"}
    plain = mr["plain", 0.0]
    attacked = mr["reject:tries=2:recipes=pwws+textfooler:every=2:insist=0", 0.01]
    share = {name: 100 * one["worst"]["hits"] / one["worst"]["total"] for name, one in mr.items()}
    text = (docs / "appendix/defences.md").read_text()
    told = f"{share['reject:tries=2:recipes=pwws+textfooler:every=2:insist=0', 0.01]:.1f}% stay right under both"
    assert told in text
    assert f"where {share['plain', 0.0]:.1f}% do without hardening" in text
    assert plain["clean"]["hits"] - attacked["clean"]["hits"] == 2  # of 200 texts: the point that the page names
    swaps = mr["swaps:tries=4", 0.0]
    for (method, _), one in mr.items():
        if method.startswith("reject") and "recipes" not in method:
            assert one["worst"]["hits"] <= swaps["worst"]["hits"] + 2
            assert one["clean"]["hits"] < swaps["clean"]["hits"]


def test_what_the_page_says_of_larger_models_is_on_the_leaderboard():
    docs = Path(__file__).parents[2] / "docs"
    text = " ".join((docs / "appendix/defences.md").read_text().split())

    def find(board: str, begin: str) -> tuple[str, str]:
        rows = json.loads((docs / "measured/defences" / board / "defences.json").read_text())["rows"]
        (row,) = [row for row in rows if row["name"].startswith(begin)]
        clean, worst = (f"{100 * row[name]['hits'] / row[name]['total']:.1f}%" for name in ("clean", "worst"))
        return clean, worst

    large, small, none = (find(*one) for one in (("ag-MPNet", "reject"), ("ag-BERT", "reject"), ("ag-MPNet", "none")))
    assert f"{large[1]} stay right with MPNet and {small[1]} with MiniLM. Without an attack MPNet is right on" in text
    assert f"right on {large[0]} of them, and on {none[0]} without hardening" in text
    assert "it is {1} with MPNet, at {0}.".format(*find("mr-MPNet", "reject")) in text
    alone, behind = find("mr-BERT-recipes", "reject"), find("mr-BERT-recipes", "detect")
    assert f"keeps {alone[1]} at {alone[0]}, and {behind[1]} at {behind[0]} behind `detect:near`" in text
    assert f"in four epochs, it kept {alone[1]}." in text
    none, alone, behind = (find("ag-BERT-weight", begin) for begin in ("none", "reject", "detect"))
    assert f"is right on {none[1]} under both attacks, `reject:weight=2` keeps {alone[1]} at {alone[0]}" in text
    assert f"and {behind[1]} at {behind[0]} behind `all:of=fgws+rde`, which takes three passes" in text
    assert (
        "in every 24th step it keeps {1} at {0} without a detector".format(*find("ag-BERT-recipes", "reject")) in text
    )
    none, alone, behind = (find("ag-BERT-guarded", begin) for begin in ("none", "reject", "detect:fgws"))
    assert f"MiniLM keeps {alone[1]} at {alone[0]} in one pass, and {behind[1]} at {behind[0]} behind `fgws`" in text
    assert f"Alone this MiniLM is right on {none[1]}." in text
    assert "no recipe, one epoch, keeps {1} at {0}.".format(*find("ag-MPNet-weight", "reject")) in text
    none, half, large = (
        find(*one) for one in (("ag-BERT-lanes", "none"), ("ag-BERT-lanes", "reject"), ("ag-MPNet-lanes", "reject"))
    )
    assert f"MiniLM keeps {half[1]} in one pass and is right on {half[0]} without an attack" in text
    assert f"as often as without hardening ({none[0]})" in text
    assert f"without recipes, keeps {large[1]} at {large[0]}." in text
    none, hard = (find("sst2-MPNet", begin) for begin in ("none", "reject"))
    assert f"SST-2 MPNet keeps {hard[1]} with `weight=2`, and {none[1]} without hardening" in text
    alone, behind = (find("ag-BERT-detected", begin) for begin in ("reject", "detect"))
    assert f"this MiniLM keeps {alone[1]} at {alone[0]} in one pass, and {behind[1]} at {behind[0]} behind" in text
    assert "one epoch, keeps {1} at {0} in one pass. So the larger".format(*find("ag-MPNet-recipes", "reject")) in text
    assert "validation texts right keeps {1} at {0}.".format(*find("mr-MPNet-phrases", "reject")) in text
    small, large = (
        tuple(find(board, begin)[1] for begin in ("reject", "none")) for board in ("imdb-BERT", "imdb-MPNet")
    )
    assert f"{small[0]} with MiniLM and {large[0]} with MPNet, where {small[1]} and {large[1]} are left" in text


def test_what_the_page_says_does_not_hold_is_the_best_of_the_leaderboard():
    docs = Path(__file__).parents[2] / "docs"
    text = " ".join((docs / "appendix/defences.md").read_text().split())
    best: dict[tuple[str, str], float] = {}
    for file in (docs / "measured/defences").glob("*/defences.json"):
        told = json.loads(file.read_text())
        least = {"mr-full:test": 0.8, "ag_news:test": 0.91}.get(told["data"], 2)
        for row in told["rows"]:
            clean, worst = (row[name]["hits"] / row[name]["total"] for name in ("clean", "worst"))
            if clean >= least and told["texts"] == 500 and told.get("validity", "paper") == "paper":
                place = told["data"].partition(":")[0], told["victim"]
                best[place] = max(best.get(place, 0), worst)
    small, large = (f"{best['ag_news', model]:.1%}" for model in ("BERT", "MPNet"))
    assert f"MiniLM behind a detector keeps {small}, and MPNet {large}." in text
    small, large = (f"{best['mr-full', model]:.1%}" for model in ("BERT", "MPNet"))
    assert f"at 80% or more are {small} with MiniLM and {large} with MPNet." in text


def test_what_the_guide_says_of_the_gain():
    docs = Path(__file__).parents[2] / "docs"
    text = " ".join((docs / "hardening.md").read_text().split())
    rows = json.loads((docs / "measured/defences/ag-BERT-detected/defences.json").read_text())["rows"]
    none, hard = (row["worst"]["hits"] / row["worst"]["total"] for row in rows[:2])
    assert f"trained with `reject` and TextFooler classifies {hard:.1%} correctly, {none:.1%} without" in text
    held = json.loads((docs / "measured/unseen.json").read_text())["rows"]
    (lost,) = [row for row in held if (row["hardened"], row["texts"]) == ("swaps, 4 epochs", "yelp")]
    assert f"loses {100 * (lost['lost'] - lost['won']) / lost['total']:.0f} points on Yelp" in text
