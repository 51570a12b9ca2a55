"""malaprop study defences and malaprop certify as a user types them, on a few made texts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from malaprop.cli.main import main
from malaprop.features.defending.certified_record import CertifiedRecord
from malaprop.features.defending.evaluation_columns import EVASIONS, columns
from malaprop.features.defending.evaluation_record import DefencesRecord
from malaprop.features.defending.evaluation_study import DefenceTest
from malaprop.frame.study.attack_tasks import Conditions
from malaprop.frame.study.selection import Selection

SMALL = [word for pair in ("dim=12", "hidden=8", "epochs=4", "batch=16", "rate=0.02") for word in ("--set", pair)]


@pytest.fixture
def type_in(monkeypatch, capsys, tiny_assets, tmp_path):
    """On 160 rows whose label is one of two words; WordNet and vectors are the toy's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    rows = [
        f"the {('story', 'film', 'idea', 'scene')[i % 4]} {i} was {('awful', 'great', 'bad', 'good')[i % 4]},{i % 2}"
        for i in range(160)
    ]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr("malaprop.frame.runs.services.tags", lambda texts: [["ADJ"] * text.slots for text in texts])
    from malaprop.frame.runs.services import shared

    shared.cache_clear()

    def run(*words):
        raw = ["--validity", "paper"] if words[:2] == ("study", "defences") else []
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words), *raw])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    yield run
    shared.cache_clear()


def last(out: str) -> dict[str, object]:
    return json.loads(out.strip().splitlines()[-1])


def test_a_model_its_twin_masks_and_what_does_not_fit(type_in):
    code, _, err = type_in("train", "LSTM-W-Random-1", "--data", "rows.csv", "--out", "m", "--device", "cpu", *SMALL)
    assert code == 0, err
    names = "none,twin,ranmask:keep=0.5:samples=8,hotflip,flooding"
    words = [
        "study",
        "defences",
        "--victim",
        "m",
        "--data",
        "rows.csv",
        "--attacks",
        "pwws,keyboard",
        "--defences",
        names,
        "--out",
        "out",
    ]
    words += ["--n", "6", "--draws", "2", "--fresh", "3", "--samples", "60", "--device", "cpu", "--json"]
    code, out, err = type_in(*words, *SMALL)
    assert code == 0, err
    assert "hotflip is left out" in err
    found = last(out)["defences"]
    assert list(found) == ["none", "twin", "ranmask:keep=0.5:samples=8", "flooding"]
    assert found["none"]["transferred"] is None
    for row in (found["twin"], found["flooding"]):  # what a model is worth is what is left under the worst of all
        under = [row, row["others"]["keyboard"]]
        least = min(one[kind]["hits"] for one in under for kind in ("active", "adaptive", "transferred"))
        assert row["worst"]["hits"] <= least <= row["clean"]["hits"]
    assert found["ranmask:keep=0.5:samples=8"]["contradicted"] == 0
    record = DefencesRecord.read(Path("out"))
    assert record is not None
    assert record.texts == 6
    assert record.learnt == json.loads(Path("m/model.json").read_text())["figures"]["train_rows"]
    assert all(row.cost for row in record.rows)
    page = Path("out/report.html").read_text()
    assert "Defence test" in page
    assert "ranmask" in page
    code, out, err = type_in(*words, *SMALL)
    assert code == 0, err
    assert "training" not in err.replace("training LSTM-W-Random-1 with hotflip", "")
    again = last(out)["defences"]
    assert {name: row["worst"] for name, row in again.items()} == {name: row["worst"] for name, row in found.items()}


def test_five_around_a_function_is_left_out_and_quiet_is_quiet(type_in, monkeypatch):
    Path("own_scored_model.py").write_text(
        "def predict(texts):\n    return [[0.1, 0.9] if 'great' in t or 'good' in t else [0.9, 0.1] for t in texts]\n"
    )
    words = [
        "study",
        "defences",
        "--victim",
        "own_scored_model:predict",
        "--data",
        "rows.csv",
        "--attacks",
        "pwws",
        "--n",
        "4",
    ]
    words += ["--defences", "five,fuse:samples=2", "--draws", "1", "--fresh", "1", "--device", "cpu", "--json"]
    code, out, err = type_in(*words, "--out", "out")
    assert code == 0, err
    assert "five is left out: five moves the vectors of words" in err
    assert "fuse:samples=2: clean" in err
    assert list(last(out)["defences"]) == ["none", "fuse:samples=2"]
    code, out, err = type_in(*words, "--out", "again", "--quiet")
    assert code == 0, err
    assert len(out.splitlines()) == 1
    assert [line for line in err.splitlines() if "left out" not in line] == []


def test_a_memory_of_queries_in_front_of_a_function_is_tested_by_attacks_that_know_it(type_in):
    Path("own_counted_model.py").write_text(
        "GOOD = ('great', 'good', 'film')\n"
        "def predict(texts):\n"
        "    shares = [sum(w in GOOD for w in t.split()) / 4 for t in texts]\n"
        "    return [[1 - s, s] for s in shares]\n"
        "def other(texts):\n"
        "    return [[1 - 0.9 * s, 0.9 * s] for _, s in predict(texts)]\n"
    )
    words = ["study", "defences", "--victim", "own_counted_model:predict", "--data", "rows.csv", "--attacks", "pwws"]
    words += ["--defences", "none,stateful:limit=2", "--n", "8", "--device", "cpu", "--out", "out", "--json"]
    code, out, err = type_in(*words, "--surrogate", "own_counted_model:other")
    assert code == 0, err
    row = last(out)["defences"]["stateful:limit=2"]
    assert row["clean"] == last(out)["defences"]["none"]["clean"]
    assert row["worst"]["hits"] <= min(row[kind]["hits"] for kind in ("active", "adaptive", "transferred"))
    runs = Path("out/stateful-limit-2")
    ended = {way: len((runs / f"pwws-{way}/outcomes.jsonl").read_text().splitlines()) for way in EVASIONS}
    assert ended == dict.fromkeys(EVASIONS, 8)
    assert "remembers queries, the attack that knows it is the worse of two" in Path("out/report.html").read_text()
    assert "own_counted_model:other" in Path("out/study.toml").read_text()


def test_certificates(type_in):
    words = ["harden", "ranmask:keep=0.5", "--model", "LSTM-W-Random-1", "--data", "rows.csv", "--out", "m"]
    assert type_in(*words, "--device", "cpu", *SMALL)[0] == 0
    code, out, err = type_in(
        *("certify", "--victim", "m", "--defence", "ranmask:keep=0.5", "--data", "rows.csv", "--n", "5"),
        *("--samples", "80", "--device", "cpu", "--out", "proofs", "--json"),
        *("--attack", "deepwordbug", "--words", "2", "--tries", "20"),
    )
    assert code == 0, err
    record = CertifiedRecord.read(Path("proofs"))
    assert record is not None
    assert record.clean.total == 5
    assert "certified, d = 1" in out
    assert last(out)["certified_accuracy"][0]["total"] == 5
    assert len(Path("proofs/certificates.jsonl").read_text().splitlines()) == 5
    assert record.top is not None
    assert record.challenge is not None
    assert len(record.top.accuracy) == len(last(out)["attacked_accuracy"]) == 3
    assert all(low.hits <= top.hits for low, top in zip(record.certified, record.top.accuracy, strict=False))
    assert last(out)["contradicted"] == 0
    assert "under deepwordbug" in Path("proofs/report.html").read_text()
    words = ["certify", "--victim", "m", "--data", "rows.csv", "--device", "cpu"]
    code, _, err = type_in(*words, "--attack", "deepwordbug", "--words", "99")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "the longest of these texts has" in err
    code, _, err = type_in(*words, "--attack", "hotflip-word")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "hotflip-word needs gradients" in err
    Path("pairs.csv").write_text("premise,hypothesis,label\na dog runs,a cat,no\na dog,an animal,yes\n")
    code, _, err = type_in(*words[:3], "--data", "pairs.csv", "--device", "cpu")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "certificates are of single texts, and pairs.csv has 2" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("study defences --defences firve --victim LSTM-W-GloVe-1", "no defence is called 'firve'"),
        ("study defences --defences five --victim a,b", "name one victim"),
        ("study defences --defences fact=nowhere --victim a", "no model in that folder"),
        (
            "study defences --defences five --victim a --premade nowhere.csv",
            "nowhere.csv is neither a run folder nor a file",
        ),
        ("study defences --defences five --victim a --layout umap --premade rows.csv", "pca or tsne"),
        ("study defences --defences five:noise=-1 --victim a", "0 or more"),
        ("study defences --defences five --victim a --attack pwws,pwsw", "no recipe is called 'pwsw'"),
        ("certify --victim a --defence five", "certificates are of safer, ranmask and randel"),
        ("certify --victim a --defence nothing", "certificates are of safer, ranmask and randel"),
        ("certify --victim a --defence ranmask:keep=7", "above 0 and below 1"),
        ("certify --victim a --alpha 2", "above 0 and below 1"),
        ("certify --victim a --attack nothing", "no recipe is called 'nothing'"),
        ("harden randel:delete=1", "above 0 and below 1"),
        ("harden ranmask:keep=2", "above 0 and below 1"),
        ("harden ranmask:kept=0.2", "no setting of harden ranmask is called 'kept'"),
        ("harden safer:floor", "name=value"),
    ],
)
def test_bad_input_is_told_in_one_line(type_in, words, said):
    code, _, err = type_in(*words.split())
    assert code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_without_draws_no_attack_knows_the_defence():
    given = {
        "defences": ("five",),
        "conditions": Conditions(validity="paper"),
        "texts": Selection(data=[("a film", 1)]),
    }
    names = {d: [c.name for c in columns(DefenceTest(**given, draws=d), "five")] for d in (4, 0)}
    assert "textfooler-adaptive" in names[4]
    assert names[0] == [name for name in names[4] if name != "textfooler-adaptive"]
