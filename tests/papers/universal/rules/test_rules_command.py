"""malaprop rules as a user types it."""

from __future__ import annotations

import csv
import json
import sys

import pytest
import toy

from malaprop.attacks.recipes import rules as recipe
from malaprop.cli.main import main

MODEL = """
import numpy as np

WORTH = {"good": 2.0, "great": 3.0, "bad": -2.0, "awful": -3.0, "nice": -1.0, "okay": 1.0, "poor": -1.0}

def predict(texts):
    s = np.array([sum(WORTH.get(w, 0.0) for w in t.lower().replace(",", " ").split()) for t in texts])
    p = 1 / (1 + np.exp(-s))
    return np.stack([1 - p, p], 1)

def broken(texts):
    raise ValueError("out of order")

def three(texts):
    return np.tile([0.2, 0.3, 0.5], (len(texts), 1))
"""
ODD = """
from malaprop.models.victims.strings import StringVictim
from rulemodel import predict

victim = StringVictim(call=lambda texts: predict(texts)[:, ::-1], name="odd", labels=2, label_names=("pos", "neg"))
"""
GOOD = ["a good film", "great fun", "good and great", "a great film", "so good", "good good film"]
BAD = ["a bad film", "awful fun", "bad and awful", "an awful film", "so bad", "bad bad film"]


@pytest.fixture
def place(tmp_path, monkeypatch, tiny_assets):
    (tmp_path / "rulemodel.py").write_text(MODEL)
    lines = [
        f'"{text} {i}",{label}' for i in range(12) for texts, label in ((GOOD, "pos"), (BAD, "neg")) for text in texts
    ]
    (tmp_path / "reviews.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    (tmp_path / "few.csv").write_text("text,label\na good film,pos\na bad film,neg\n")
    (tmp_path / "news.csv").write_text("text,label\na good game,sports\na bad war,world\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)
    monkeypatch.delitem(sys.modules, "rulemodel", raising=False)
    yield tmp_path
    sys.modules.pop("rulemodel", None)


@pytest.fixture
def run(place, capsys, monkeypatch):
    def call(line: str):
        monkeypatch.setattr(sys, "argv", ["malaprop", *line.split()])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def last(out: str):
    return json.loads(out.strip().splitlines()[-1])


def test_mine_show_apply_attack_and_report(run, place):
    code, out, err = run("rules mine --victims rulemodel:predict --data reviews.csv --out mined --json")
    assert code == 0, err
    about = last(out)
    assert about["method"] == "exact"
    assert about["left_out"] == 0
    assert json.loads((place / "mined" / "mined.json").read_text())["rules"] == about["rules"]
    assert (place / "mined" / "shards" / "000000.npz").is_file()  # the sums: a study that is there is not mined again
    head, *rows = (place / "mined" / "rules.csv").read_text().splitlines()
    assert head == "label,number,from,to,salience,count,mean"
    assert rows[0].startswith("neg,0,bad,okay,3,")

    code, out, err = run("rules show mined --data reviews.csv --top 2 --out report --json")
    assert code == 0, err
    assert "bad -> okay" in out
    assert [one["label"] for one in last(out)["found"]] == ["neg", "pos"]

    line = "rules apply mined/rules.csv --data reviews.csv --share 0.5 --out changed.csv --json"
    code, out, err = run(line)
    assert code == 0, err
    again, _, refused = run(line)
    assert again == 2
    assert "changed.csv exists already" in refused
    assert last(out)["texts"] == 144
    assert "okay" in (place / "changed.csv").read_text()

    line = (
        "attack rules --victim rulemodel:predict --data reviews.csv --n 40 --set file=mined/rules.csv --out report/run"
    )
    code, out, err = run(f"{line} --json")
    assert code == 0, err
    assert last(out)["success"]["hits"] > 0
    assert "Rules(rules.csv" in (place / "report" / "run" / "run.toml").read_text()
    assert run("report report")[0] == 0
    assert "taught the model" in (place / "report" / "report.html").read_text()


def test_labels_in_another_order_are_matched_by_name(run, place):
    (place / "oddmodel.py").write_text(ODD)
    for name, victims in (("plain", "rulemodel:predict"), ("both", "oddmodel:victim,rulemodel:predict")):
        line = f"rules mine --victims {victims} --data reviews.csv --out {name} --quiet"
        assert run(line) == (0, "", "")
    assert (place / "plain" / "rules.csv").read_text() == (place / "both" / "rules.csv").read_text()
    line = "rules measure plain --victims rulemodel:predict,oddmodel:victim --data reviews.csv --out m --json --quiet"
    code, out, err = run(line)
    assert code == 0, err
    one, two = (cell["success"] for cell in last(out)["cells"])
    assert one == two
    assert one["hits"]


def test_pmi_and_measure(run, place):
    assert run("rules pmi --data reviews.csv --out pmi --quiet")[0] == 0
    line = "rules mine --victims rulemodel:predict --data reviews.csv --out uawr --best --least 2 --format json --quiet"
    assert run(line) == (0, "", "")
    mined = json.loads((place / "uawr" / "rules.json").read_text())["rules"]
    assert len({(r["label"], r["from"]) for r in mined}) == len(mined)
    code, out, err = run(
        "rules measure pmi/rules.csv uawr/rules.json --victims rulemodel:predict --data reviews.csv --out both --json"
    )
    assert code == 0, err
    found = last(out)
    assert [w["rules"] for w in found["wholes"]] == ["pmi", "uawr"]
    assert found["cells"][0]["success"]["total"] > 0
    assert "mean of victims" in out
    assert json.loads((place / "both" / "measured.json").read_text())["data"] == "reviews.csv:test"


def test_files_of_rules_are_read_once_a_command(run, place, monkeypatch):
    """Large ones take seconds, and a check and a plan both want them; what changed in between two commands is seen."""
    read, real = [], recipe.read_rules
    monkeypatch.setattr(recipe, "read_rules", lambda file: read.append(file) or real(file))
    line = "rules measure one.csv two.csv --victims rulemodel:predict --data reviews.csv --out m{} --quiet"
    for name in ("one", "two"):
        (place / f"{name}.csv").write_text("label,from,to,salience\npos,good,nice,1\nneg,bad,okay,1\n")
    assert run(line.format(1)) == (0, "", "")
    assert read == ["one.csv", "two.csv"]
    (place / "two.csv").write_text("label,from,to,salience\npos,good,nice,-1\n")
    code, _, err = run(line.format(2))
    assert (code, "has a salience above 0" in err) == (2, True)


def test_a_victim_named_twice_is_refused(run):
    assert run("rules pmi --data reviews.csv --out pmi --quiet")[0] == 0
    code, _, err = run("rules measure pmi --victims rulemodel:predict,rulemodel:predict --data reviews.csv --out m")
    assert code == 2
    assert "named twice" in err


def test_the_first_texts_both_ways_when_asked(run):
    line = "rules mine --victims rulemodel:predict --data reviews.csv --check 20 --out mined"
    code, _, err = run(f"{line} --quiet")
    assert code == 2
    assert "needs gradients" in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("rules mine --victims rulemodel:predict,rulemodel:three --data reviews.csv", "three scores 3"),
        ("rules mine --victims rulemodel:three --data reviews.csv --method guess", "no method of mining"),
        ("rules mine --victims , --data reviews.csv", "names no victim"),
        ("rules mine --victims rulemodel:predict --data few.csv", "--split all"),
        ("rules mine --victims rulemodel:predict --data reviews.csv --shrink lots", "--shrink takes auto or a number"),
        ("rules mine --victims rulemodel:predict --data reviews.csv --format xml", "no format is called"),
        ("rules mine --victims rulemodel:predict --data reviews.csv --split rest", "no split is called"),
        ("rules mine --victims rulemodel:predict --data reviews.csv --least 1000", "smaller --least"),
        ("rules show none.csv --data reviews.csv", "no such file of rules"),
        ("rules show empty.csv --data reviews.csv", "holds no rule"),
        ("rules show torn.csv --data reviews.csv", "line 3 has 2 columns"),
        ("rules show own.csv --data news.csv --split all", "the data has sports, world"),
        ("rules apply own.csv --data news.csv", "the data has sports, world"),
        ("rules apply own.csv --data reviews.csv --out x.txt", ".csv or a .jsonl"),
        ("rules apply own.csv --data reviews.csv --share 0", "share of words"),
        ("rules apply weak.csv --data reviews.csv", "has a salience above 0"),
        (
            "rules measure own.csv --victims rulemodel:broken --data reviews.csv",
            "no victim has a text to try the rules on: rulemodel:broken",
        ),
        ("rules measure weak.csv --victims rulemodel:predict --data reviews.csv", "has a salience above 0"),
        ("attack rules --victim rulemodel:predict --data reviews.csv --set file=weak.csv", "has a salience above 0"),
        ("rules measure own.csv --victims rulemodel:predict --data news.csv --split all", "the data has sports, world"),
        ("attack rules --victim rulemodel:predict --data news.csv --set file=own.csv", "the data has sports, world"),
        ("attack rules --victim rulemodel:predict --data news.csv", "the data has sports, world"),
        ("attack rules --victim rulemodel:predict --data reviews.csv --set file=torn.csv", "line 3 has 2 columns"),
    ],
)
def test_wrong_input_is_one_line(run, place, line, says):
    (place / "own.csv").write_text("label,from,to,salience\npos,good,fine,1\nneg,bad,poor,1\n")
    (place / "weak.csv").write_text("label,from,to,salience\npos,good,fine,0\nneg,bad,poor,-1\n")
    (place / "empty.csv").write_text("label,from,to,salience\n")
    (place / "torn.csv").write_text("label,from,to,salience\npos,good,fine,1\npos,goo\n")
    code, out, err = run(f"{line} --quiet" if "--quiet" not in line else line)
    assert code == 2, (out, err)
    assert says in err
    assert len(err.strip().splitlines()) == 1


def test_rows_keep_their_order_and_a_wrong_out_is_said_first(run, place):
    (place / "own.csv").write_text("label,from,to,salience\npos,good,fine,1\n")
    rows = [f"r{i},a good film {i},pos" for i in range(9)]
    (place / "mine.csv").write_text("\n".join(["id,text,label", *rows, "r9,a bad film,neg"]) + "\n")
    assert run("rules apply own.csv --data mine.csv --out changed.csv")[0] == 0
    with (place / "changed.csv").open() as file:
        changed = {row["id"]: row["text"] for row in csv.DictReader(file)}
    assert changed == {**{f"r{i}": f"a fine film {i}" for i in range(9)}, "r9": "a bad film"}
    assert list(changed) == [f"r{i}" for i in range(10)]
    _, _, err = run("rules apply own.csv --data nowhere.csv --out x.txt")
    assert ".csv or a .jsonl" in err


def test_labels_that_have_no_rule_are_told(run, place):
    (place / "own.csv").write_text("label,from,to,salience\npos,good,fine,1\nsports,ball,globe,1\n")
    code, _, err = run("rules apply own.csv --data reviews.csv")
    assert code == 0
    assert "has no labels sports, which rules name" in err
    assert "there is no rule for the label neg" in err
