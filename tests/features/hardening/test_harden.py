"""malaprop harden and malaprop study as a user types them, on a few made texts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from malaprop.cli.main import main
from malaprop.frame.runs.make_attack import attack
from malaprop.frame.runs.victims import victim
from malaprop.training.card import read_card

SMALL = [
    word
    for pair in ("char_dim=6", "filters=16", "width=3", "hidden=12", "epochs=2", "batch=16", "rate=0.02")
    for word in ("--set", pair)
]


@pytest.fixture
def reviews(tmp_path, monkeypatch):
    """160 rows whose label is one of two words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    rows = [
        f"the {('story', 'film', 'idea', 'scene')[i % 4]} {i} was {('awful', 'great')[i % 2]},{i % 2}"
        for i in range(160)
    ]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    return "rows.csv"


@pytest.fixture
def type_in(monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


@pytest.mark.parametrize(
    ("words", "name", "said"),
    [
        (("hotflip", "--r", "0.3"), "hotflip", "best 30% of their characters flipped"),
        (("miyato", "--noise", "0.4"), "miyato", "adversarial noise of 0.4"),
        (("miyato", "--virtual"), "miyato-virtual", "virtual adversarial noise of 0.02"),
        (("blackbox",), "blackbox", "20% of their characters changed at random"),
    ],
    ids=["hotflip", "miyato", "virtual", "blackbox"],
)
def test_a_hardened_model_is_a_victim_and_its_card_says_how_it_was_made(type_in, reviews, words, name, said):
    code, out, err = type_in("harden", *words, "--data", reviews, "--out", "hard", "--device", "cpu", "--json", *SMALL)
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["name"] == f"CharCNN-LSTM+{name}"
    assert f"{words[0]}, epoch 2: loss" in err
    assert said in read_card(Path("hard")).about
    (outcome,) = attack("deepwordbug", "hard", [("the story was great", 1)])
    assert outcome.status in ("success", "failed", "skipped")


def test_word_models_are_hardened_too(type_in, reviews):
    for method in ("miyato", "blackbox"):
        words = ("--model", "LSTM-W-Random-1", "--set", "epochs=1", "--set", "hidden=8", "--set", "dim=8")
        code, _, err = type_in("harden", method, *words, "--data", reviews, "--out", method, "--device", "cpu")
        assert code == 0, err
        assert victim(method).name == f"LSTM-W-Random-1+{method}"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("hotflip", "--model", "CNN-W-Random-1"), "harden hotflip flips characters, and this model reads words"),
        (("hotflop",), "no defence is called 'hotflop'; did you mean hotflip?"),
        (("hotflip", "--r", "0"), "--r is a share of the characters above 0 and up to 1, got 0.0"),
        (("miyato", "--r", "0.1"), "--r is not an option of harden miyato"),
        (("blackbox", "--virtual"), "--virtual is not an option of harden blackbox"),
        (("hotflip", "--model", "CharCNN"), "no model is called 'CharCNN'"),
        (("hotflip", "--set", "filter=3"), "no setting is called 'filter'"),
        (("hotflip", "--set", "epochs=x"), "training needs a whole number for epochs, got 'x'"),
        (("hotflip", "--set", "rates=3"), "no setting is called 'rates'; did you mean "),
        (("hotflip", "--set", "batch=1.5"), "training needs a whole number for batch, got 1.5"),
        (("hotflip", "--set", "rate=fast"), "training needs a number for rate, got 'fast'"),
        (("hotflip", "--set", "warmup=inf"), "training needs a number for warmup, got inf"),
        (("miyato", "--noise", "inf"), "--noise must be a number above 0, got inf"),
        (("miyato", "--model", "all63"), "all63 is many models; name one"),
        (("freelb", "--model", "mine:predict"), 'put a defence around it, as --victim "purify:spell(mine:predict)"'),
        (("a2t", "--model", "https://host/classify"), "harden auto --model https://host/classify"),
        (("a2t", "--model", "pipeline.skops"), "pipeline.skops shows no gradients and no weights"),
        (("freelb", "--budget", "3m"), "--budget is not an option of harden freelb; it belongs to harden auto"),
        (("auto", "--budget", "soon"), "--budget is a time such as 30m, 90s or 2h, got 'soon'"),
        (("auto", "--budget", "0s"), "--budget must be above 0, got '0s'"),
        (("auto", "--r", "0.1"), "--r is not an option of harden auto"),
        (("auto", "--methods", "flodding"), "did you mean flooding"),
        (("auto", "--model", "mine:predict", "--methods", "freelb"), "freelb trains a model, and mine:predict cannot"),
        (("auto", "--model", "mine:predict", "--methods", "stateful"), "test it with malaprop study defences"),
    ],
)
def test_wrong_input_is_answered_in_one_line(type_in, reviews, words, line):
    code, _, err = type_in("harden", *words, "--data", reviews, "--out", "hard", "--device", "cpu")
    assert code == 2
    assert err.count("\n") == 1
    assert line in err


def test_labels_of_one_class_and_a_budget_below_an_epoch_are_answered_in_one_line(type_in, reviews, monkeypatch):
    from malaprop.features.hardening import auto_budget as epochtime

    Path("one.csv").write_text(Path("rows.csv").read_text().replace(",1\n", ",0\n"))
    words = ("harden", "auto", "--model", "CNN-W-Random-1", "--device", "cpu", "--budget", "1m")
    slow = epochtime.EpochTime(step=50.0, steps=3, processor=50.0)
    monkeypatch.setattr(epochtime, "time_epoch", lambda *_, **__: slow)
    for data, line in (("one.csv", "fewer than two labels"), ("rows.csv", "takes about 3m here, and --budget is 1m")):
        code, _, err = type_in(*words, "--data", data, "--out", "best")
        assert code == 2
        assert err.count("\n") == 1
        assert line in err
        assert not Path("best").exists()


def test_a_study_trains_attacks_counts_and_reports_and_goes_on_with_what_is_there(type_in, reviews, tmp_path):
    words = ("--data", reviews, "--n", 6, "--methods", "hotflip", "--confidences", "0,0.6", "--beam", 2, "--exact", 2)
    command = ("study", "hotflip", *words, "--out", "study", "--device", "cpu", "--json", *SMALL)
    code, out, err = type_in(*command)
    assert code == 0, err
    found = json.loads(out.splitlines()[-1])
    assert set(found["models"]) == {"plain", "hotflip"}
    page = (tmp_path / "study" / "report.html").read_text(encoding="utf-8")
    assert "HotFlip study" in page
    assert "Before and after training against attacks" in page
    record = (tmp_path / "study" / "hotflip.json").read_bytes()
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "study").rglob("outcomes.jsonl")}
    assert len(stamps) == 2 + 4 + 3 * 2 + 1  # the last: greedy flips, beside which H2 has the beam
    code, _, err = type_in(*command)
    assert code == 0, err
    assert "epoch" not in err
    assert (tmp_path / "study" / "hotflip.json").read_bytes() == record
    assert type_in("report", "study", "--quiet")[0] == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("hotflap",), "no study is called 'hotflap'"),
        (("hotflip", "--confidences", "0,2"), "--confidences takes numbers from 0 to below 1"),
        (("hotflip", "--methods", "hotflip-virtual"), "--methods takes hotflip, hotflip:SHARE, miyato"),
        (("hotflip", "--methods", "hotflip:much"), "takes a share such as 0.1, got 'hotflip:much'"),
        (("hotflip", "--methods", "miyato:0.1"), "--methods takes hotflip, hotflip:SHARE, miyato"),
        (("hotflip", "--methods", "faith"), "no defence is called 'faith'"),
        (("hotflip", "--model", "LSTM-W-Random-1"), "LSTM-W-Random-1 does not; name one that reads characters"),
    ],
)
def test_a_study_that_cannot_be_is_refused_before_any_work(type_in, reviews, words, line):
    code, _, err = type_in("study", *words, "--data", reviews, "--out", "study", "--device", "cpu", "--quiet")
    assert code == 2
    assert line in err
    assert not Path("study").exists()
