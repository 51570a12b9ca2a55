"""transfer and ensemble as a user types them: what they print, write and refuse."""

from __future__ import annotations

import csv
import json
import sys
from itertools import pairwise

import pytest

from malaprop.cli.main import main

MODELS = """
import numpy as np

WORTH = {"good": 2.0, "great": 3.0, "bad": -2.0, "awful": -3.0, "dull": -1.0, "film": -0.2}

def scored(worth, texts):
    s = np.array([sum(worth.get(w, 0.0) for w in t.lower().replace(",", " ").split()) for t in texts])
    p = 1 / (1 + np.exp(-s))
    return np.stack([1 - p, p], 1)

def plain(texts):
    return scored(WORTH, texts)

def eager(texts):
    return scored({**WORTH, "film": 0.5}, texts)

def sour(texts):
    return scored({**WORTH, "film": -0.5, "a": -0.1}, texts)

def wrong(texts):
    return 1 - plain(texts)

def three(texts):
    return np.tile([[0.2, 0.3, 0.5]], (len(texts), 1))
"""
ROWS = [(f"a {word} film about {what}", label)
        for word, label in (("good", "pos"), ("great", "pos"), ("bad", "neg"), ("awful", "neg"), ("dull", "neg"))
        for what in ("dogs", "cats", "nothing <b>at all</b>")]  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "threemodels.py").write_text(MODELS)
    (tmp_path / "reviews.csv").write_text("text,label\n" + "\n".join(f'"{text}",{label}' for text, label in ROWS))
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("threemodels", None)
    yield tmp_path
    sys.modules.pop("threemodels", None)


@pytest.fixture
def type_in(monkeypatch, capsys):
    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


def study(*more: object, victims: str = "plain,eager,sour", recipe: str = "homoglyph") -> tuple[object, ...]:
    named = ",".join(name if ":" in name else f"threemodels:{name}" for name in victims.split(","))
    return ("transfer", "--victims", named, "--data", "reviews.csv", "--recipe", recipe, *more)


def test_a_study_and_its_ensembles(place, type_in):
    code, out, err = type_in(*study("--out", "run", "--json"))
    assert code == 0, err
    summary = json.loads(out.splitlines()[-1])
    assert [m["name"] for m in summary["models"]] == [f"threemodels:{n}" for n in ("plain", "eager", "sour")]
    assert "share that the target (across) gets wrong" in out
    assert any("successes, all of them used (of 500 wanted)" in note for note in summary["notes"])
    record = json.loads((place / "run" / "transfer.json").read_text())
    rows = list(csv.DictReader((place / "run" / "matrix.csv").read_text().splitlines()))
    assert len(rows) == 6  # three by three, without seconds on the diagonal
    at = {name: i for i, name in enumerate(("plain", "eager", "sour"))}
    for row in rows:
        s, t = (at[row[end].partition(":")[2]] for end in ("source", "target"))
        assert (int(row["hits"]), int(row["total"])) == (record["hits"][s][t], record["totals"][s][t])
    page = (place / "run" / "report.html").read_text()
    assert "Transfer between models" in page
    assert "<b>at all</b>" not in page.partition('<script type="application/json"')[0]

    before = (place / "run" / "sources").rglob("outcomes.jsonl")
    sizes = {path: path.read_bytes() for path in before}
    code, out, err = type_in(*study("--out", "run", "--json"))
    assert code == 0, err
    assert "is finished; nothing is run again" in err
    assert "attacked" not in err
    assert json.loads(out.splitlines()[-1])["queries_a_second"] == summary["queries_a_second"]
    assert all(path.read_bytes() == held for path, held in sizes.items())

    code, out, err = type_in("ensemble", "--from", "run", "--size", "2", "--json")
    assert code == 0, err
    found = json.loads(out.splitlines()[-1])["ensembles"]
    assert {e["how"] for e in found} == {"genetic", "greedy", "exact"}
    assert {tuple(e) for e in found} == {("size", "how", "members", "fitness", "outside", "unseen", "drawn")}
    assert "the expert's ensemble needs" in out
    page = (place / "run" / "report.html").read_text()
    assert "Transfer of ensembles" in page
    assert "How far each carries" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (study(victims="plain"), "at least two victims, got threemodels:plain"),
        (study(victims="plain,three"), "must score the same labels"),
        (study(victims="plain,none"), "none"),
        (study(recipe="pwsw"), "did you mean pwws"),
        (study("--address", "auto"), "--address is for --engine ray"),
        (study("--set", "language_model=true", recipe="genetic:wordnet"), "language_model would do nothing"),
        (("ensemble", "--from", "nowhere"), "holds no transfer study"),
        (("ensemble", "--from", "nowhere", "--size", "7..2"), "--size takes a number"),
        (("ensemble", "--from", "nowhere", "--size", "two"), "--size takes a number"),
        (("ensemble", "--from", "nowhere", "--by", ""), "chosen by genetic, expert, greedy, exact, got none"),
    ],
)
def test_bad_input_is_said_in_one_line(place, type_in, words, said):
    code, _, err = type_in(*words, "--quiet")
    assert code == 2, err
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_model_that_is_gone_is_named(place, type_in, monkeypatch):
    """Gone, or typed as seen from another folder."""
    assert type_in(*study("--out", "run", "--quiet"))[0] == 0
    record = place / "run" / "transfer.json"
    whole = json.loads(record.read_text())
    whole["models"][1] |= {"name": "CNN-W-GloVe-1", "spec": "./mine"}
    record.write_text(json.dumps(whole))
    code, _, err = type_in("ensemble", "--from", "run", "--size", "2", "--quiet")
    assert code == 2
    assert "CNN-W-GloVe-1 of the study was ./mine, which cannot be found from the folder" in err
    assert f"cannot be found from the folder {place};" in err
    assert len(err.strip().splitlines()) == 1


def test_all_victims_wrong(place, type_in):
    (place / "threemodels.py").write_text(MODELS + "\ndef wrong2(texts):\n    return wrong(texts)\n")
    code, _, err = type_in(*study("--out", "run", "--quiet", victims="wrong,wrong2"))
    assert code == 2
    assert "no source gave an adversarial text" in err
    assert not (place / "run" / "transfer.json").exists()


def test_a_broken_record_is_refused(place, type_in):
    (place / "run").mkdir()
    for broken in ("{", '{"format": 1}', '{"format": 9}', "[]"):
        (place / "run" / "transfer.json").write_text(broken)
        code, _, err = type_in("ensemble", "--from", "run")
        assert code == 2
        assert "is not a record of malaprop transfer" in err


@pytest.mark.slow
def test_zoo_names_are_trained_on_a_file_and_attacked_on_rows_they_did_not_see(place, type_in, own_cache):
    words = {"pos": ("good", "great", "fine", "lovely"), "neg": ("bad", "awful", "poor", "dull")}
    rows = [
        (f"a {w} film with {v} actors number {i}", label)
        for i in range(30)
        for label, some in words.items()
        for w, v in pairwise(some)
    ]
    (place / "many.csv").write_text("text,label\n" + "\n".join(f'"{text}",{label}' for text, label in rows))
    code, out, err = type_in(
        "transfer", "--victims", "CNN-W-Random-1,LSTM-W-Random-1", "--data", "many.csv", "--recipe", "homoglyph",
        "--out", "run", "--json",
    )  # fmt: skip
    assert code == 0, err
    summary = json.loads(out.splitlines()[-1])
    assert summary["texts"] < 0.2 * len(rows)
    assert [m["name"] for m in summary["models"]] == ["LSTM-W-Random-1", "CNN-W-Random-1"]  # as in the paper's table
    assert list(summary["factors"]) == ["architecture"]
    record = json.loads((place / "run" / "transfer.json").read_text())
    assert [m["second"] for m in record["models"]] == ["LSTM-W-Random-1#2", "CNN-W-Random-1#2"]
    assert all(record["totals"][i][i] for i in range(2))


def test_names_of_the_zoo_are_trained_to_a_folder_with_settings_of_their_own(place, type_in):
    words = [
        "transfer",
        "--victims",
        "CNN-W-Random-1,CNN-C-Random-1",
        "--data",
        "reviews.csv",
        "--no-base",
        "--n",
        "2",
        "--recipe",
        "deepwordbug",
        "--zoo",
        "zoo",
        "--train-set",
        "epochs=1",
        "--train-set",
        "least=2",
    ]
    code, _, err = type_in(*words, "--train-set", "leest=3", "--out", "wrong")
    assert (code, "no setting is called 'leest'" in err) == (2, True)
    code, _, err = type_in(*words, "--out", "study")
    assert code in (0, 2), err  # models of fifteen texts may have nothing to break
    cards = {path.parent.name: json.loads(path.read_text()) for path in (place / "zoo").glob("*/model.json")}
    assert set(cards) == {"CNN-W-Random-1", "CNN-C-Random-1"}
    assert all(card["figures"]["epochs"] == 1 for card in cards.values())
    known = (place / "zoo" / "CNN-W-Random-1" / "vocab.txt").read_text().split()
    assert "film" in known
