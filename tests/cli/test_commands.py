"""The commands as a user types them: what they print, what they leave, how they end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from malaprop.cli.main import main
from malaprop.features.defending.detection import DETECTORS
from malaprop.frame.study.settings import type_command

MODEL = """
import numpy as np

WORTH = {"good": 2.0, "great": 3.0, "bad": -2.0, "awful": -3.0}

def predict(texts):
    s = np.array([sum(WORTH.get(w, 0.0) for w in t.lower().replace(",", " ").split()) for t in texts])
    p = 1 / (1 + np.exp(-s))
    return np.stack([1 - p, p], 1)

def nan(texts):
    return np.full((len(texts), 2), np.nan)

def flat(texts):
    return np.full(len(texts), 3.0)

def scores(texts):
    return 5 * predict(texts) - 2

def raises_on_dogs(texts):
    if any("dog" in t for t in texts):
        raise ValueError("no dogs")
    return predict(texts)

def short_only(texts):
    if any(len(t) > 5 for t in texts):
        raise ValueError("too long")
    return predict(texts)

def nothing(texts):
    return None

class Moody:
    def __init__(self):
        self.calls = 0

    def __call__(self, texts):
        self.calls += 1
        p = predict(texts)
        return p if self.calls < 4 else np.tile([[0.1, 0.9]], (len(texts), 1)) if self.calls % 2 else p

moody = Moody()
"""
ROWS = [
    ("a good film about dogs", "pos"),
    ("a bad film, quite awful", "neg"),
    ("great fun", "pos"),
    ("awful", "neg"),
    ("a good and great story", "pos"),
    ("bad acting throughout", "neg"),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a model and data, as the working folder."""
    (tmp_path / "toymodel.py").write_text(MODEL)
    lines = "\n".join(f'"{text}",{label}' for text, label in ROWS)
    (tmp_path / "reviews.csv").write_text(f"text,label\n{lines}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "toymodel", raising=False)
    yield tmp_path
    sys.modules.pop("toymodel", None)


@pytest.fixture
def type_in(monkeypatch, capsys):
    """Types a command line; gives its exit code, standard output and standard error."""

    def run(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        said = capsys.readouterr()
        return int(code or 0), said.out, said.err

    return run


def attack(*more: str | Path) -> tuple[str | Path, ...]:
    victim = () if "--victim" in more else ("--victim", "toymodel:predict")
    return ("attack", "homoglyph", *victim, "--data", "reviews.csv", *more)


def test_attack_writes_outcomes_and_ends_in_one_json_line(place, type_in):
    code, out, _ = type_in(*attack("--out", "run", "--json"))
    assert code == 0
    summary = json.loads(out.splitlines()[-1])
    assert summary["counts"] == {"success": 0, "failed": 6, "skipped": 0, "error": 0} or summary["counts"]["success"]
    assert summary["success"]["total"] == 6
    lines = (place / "run" / "outcomes.jsonl").read_text().splitlines()
    assert len(lines) == 6
    assert 'recipe = "homoglyph"' in (place / "run" / "run.toml").read_text()


def test_the_last_line_of_a_command_says_what_to_do_next(place, type_in):
    said = type_in(*attack("--out", "run"))[1].splitlines()[-1]
    assert said == (
        "next: malaprop report run, or try more attacks: malaprop audit --victim toymodel:predict --data reviews.csv"
    )
    assert type_in(*attack("--out", "quiet", "--quiet"))[1] == ""
    assert "next: " not in type_in(*attack("--out", "json", "--json"))[1]
    assert type_in("report", "run")[1].splitlines()[-1] == "next: open run/report.html in a browser"


def test_a_suggested_command_is_one_that_can_be_typed():
    assert type_command("audit", victim="./my model", data=Path("a.csv")) == (
        "malaprop audit --victim './my model' --data a.csv"
    )
    assert type_command("harden auto", model=("a", "b"), train_data=None) == (
        "malaprop harden auto --model MODEL --train-data DATA"
    )


def test_the_same_seed_gives_the_same_outcomes_at_any_width(place, type_in):
    for name, width in (("one", "1"), ("many", "256")):
        assert type_in(*attack("--out", name, "--width", width, "--quiet"))[0] == 0
    one, many = (
        {o["id"]: (o["status"], o["adversarial"], o["edits"], o["queries"]["asked"]) for o in records(place / name)}
        for name in ("one", "many")
    )
    assert one == many


def records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "outcomes.jsonl").read_text().splitlines()]


def test_a_finished_folder_is_not_overwritten_but_resumed(place, type_in):
    assert type_in(*attack("--out", "run", "--quiet"))[0] == 0
    before = records(place / "run")
    code, _, said = type_in(*attack("--out", "run", "--quiet"))
    assert code == 0
    assert said == "attack in run is finished; nothing is run again; see it with: malaprop report run\n"
    whole = (place / "run" / "outcomes.jsonl").read_bytes()
    (place / "run" / "outcomes.jsonl").write_bytes(whole[: len(whole) // 2])  # torn in the middle of a line
    assert type_in(*attack("--out", "run", "--quiet", "--resume"))[0] == 0
    after = records(place / "run")
    assert {o["id"]: o["adversarial"] for o in after} == {o["id"]: o["adversarial"] for o in before}
    code, _, said = type_in(*attack("--out", "run", "--quiet", "--resume", "--seed", "5"))
    assert code == 2
    assert "run holds a study with seed = 0, and here it is 5; use the same settings, or choose another --out" in said


def test_a_folder_that_reproduce_made_is_taken_and_another_is_not(place, type_in):
    (place / "run").mkdir()
    (place / "run" / "output-0.txt").write_text("as printed so far")
    (place / "run" / "photo.jpg").write_text("of a dog")
    code, _, said = type_in(*attack("--out", "run", "--quiet"))
    assert (code, "something else than a run (photo.jpg)" in said) == (2, True)
    (place / "run" / "photo.jpg").unlink()
    assert type_in(*attack("--out", "run", "--quiet"))[0] == 0


def test_audit_makes_one_report_of_all(place, type_in):
    code, out, said = type_in(
        *("audit", "--validity", "paper", "--victim", "toymodel:predict,toymodel:scores", "--data", "reviews.csv"),
        *("--attacks", "homoglyph,keyboard", "--out", "card", "--json"),
    )
    assert code == 0
    summary = json.loads(out.splitlines()[-1])
    assert [(r["victim"], r["recipe"]) for r in summary["runs"]] == [
        (v, r) for v in ("toymodel:predict", "toymodel:scores") for r in ("homoglyph", "keyboard")
    ]
    page = (place / "card" / "report.html").read_text()
    assert "toymodel:scores" in page
    assert "report card: " in said
    assert "accuracy under attack" in out
    code, _, _ = type_in("report", "card", "--out", "again.html", "--quiet")
    assert code == 0
    assert (place / "again.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("attack", "pwwss", "--victim", "toymodel:predict"), "? malaprop list recipes shows all"),
        (("attack", "homoglyph", "--victim", "toymodel:predct", "--data", "reviews.csv"), "did you mean predict?"),
        (
            ("attack", "homoglyph", "--victim", "nomodel:predict", "--data", "reviews.csv"),
            "installed ones; --victim takes module:attribute",
        ),
        (attack("--data", "missing.csv"), "no such file: missing.csv; give a file that exists (--data also takes"),
        (attack("--data", "empty.csv"), "empty.csv"),
        (attack("--data", "columns.csv"), "review, stars"),
        (attack("--data", "columns.csv"), "rename them, or name yours with --text-column and --label-column"),
        (attack("--labels", "happy"), "--labels takes at least two names that differ"),
        (attack("--data", "one.csv"), "1 label (spam), toymodel:predict scores 2"),
        (attack("--goal", "targeted:x"), "targeted:LABEL"),
        (attack("--goal", "labelonly"), "did you mean label-only?"),
        (attack("--set", "sharee=0.1"), "did you mean share?"),
        (attack("--set", "share=2"), "share must lie in (0, 1]"),
        (attack("--set", "share"), "name=value"),
        (attack("--measure", "simlarity"), "did you mean similarity?"),
        (attack("--out", "reviews.csv"), "is a file; give a folder"),
        (attack("--device", "abacus"), "give cpu, cuda or auto"),
        (("report", "nowhere"), "no such folder"),
        (("list", "recipies"), "recipes"),
        (("fetch", "wordnett"), "did you mean wordnet?"),
        (("train", "LSTM-W-GloVe-3"), "LSTM-W-GloVe-1"),
        (
            ("study", "hotflip", "--models", "BERT"),
            "it belongs to study oneword and study attention",
        ),
        (("study", "attention", "--vocabulary", "9"), "it belongs to study oneword"),
        (("study", "oneword", "--beam", "3"), "it belongs to study hotflip"),
        (("study", "oneword", "--n", "many"), "--n takes a whole number or all, got 'many'"),
        (("study", "oneword", "--modles", "BERT"), "No such option: --modles"),
        (("study", "oneword", "--engine", "sun"), "--engine takes local, ray; got 'sun'"),
        (("study", "oneword", "--address", "here"), "--address is for --engine ray"),
        (("studdy",), "no command is called 'studdy'; did you mean study or status?"),
        (("run", "nowhere.toml"), "no such file: nowhere.toml"),
        (("audit", "--hardened", "fact=x"), "--hardened is not an option of audit; it belongs to study defences"),
        (("audit", "--defences", "five"), "--defences is not an option of audit; it belongs to study defences"),
        (("tune", "five", "--victim", "x", "--set", "epochs=1"), "it belongs to tune fact"),
        (("train", "LSTM-W-Random-1", "--seeds", "2"), "--seeds is not an option of train lstm-w-random-1"),
        (("train", "nmt-lstm", "--vectors", "x.vec"), "--vectors is not an option of train nmt-lstm"),
    ],
)
def test_wrong_input_is_answered_in_one_line(place, type_in, words, reason):
    (place / "empty.csv").write_text("")
    (place / "columns.csv").write_text("review,stars\nfine,3\n")
    (place / "one.csv").write_text("text,label\nfine,spam\ngood,spam\n")
    code, out, said = type_in(*words)
    assert code == 2
    assert out == ""
    assert said.startswith("malaprop: ")
    assert len(said.splitlines()) == 1
    assert reason in said


def test_a_broken_victim_ends_the_run_with_its_reason(place, type_in):
    for name, reason in (("nan", "nan"), ("flat", "one score a label"), ("raises_on_dogs", "")):
        code, _, said = type_in(*attack("--victim", f"toymodel:{name}", "--out", name, "--quiet"))
        assert (code, reason in said) == ((0, True) if name == "raises_on_dogs" else (2, True)), said
    statuses = {o["original"]["fields"]["text"]: (o["status"], o["reason"]) for o in records(place / "raises_on_dogs")}
    wrong = {text: reason for text, (status, reason) in statuses.items() if status == "error"}
    assert list(wrong) == ["a good film about dogs"]
    assert "no dogs" in wrong["a good film about dogs"]


def test_ctrl_c_is_answered_in_one_line_and_keeps_what_was_finished(place, type_in, monkeypatch):
    from malaprop.frame.records.store import Writer

    real = Writer.add_new

    def add_new(self, row):
        new = real(self, row)
        if len(self.done) == 3:
            raise KeyboardInterrupt
        return new

    monkeypatch.setattr(Writer, "add_new", add_new)
    code, _, said = type_in(*attack("--out", "run", "--quiet"))
    assert code == 130
    assert said.startswith("malaprop: stopped; what was finished is kept")
    assert len(records(place / "run")) == 3


def test_a_run_of_errors_does_not_end_as_a_rate(place, type_in):
    code, out, said = type_in(*attack("--victim", "toymodel:short_only", "--out", "run", "--json"))
    assert code == 2
    assert "5 of 6 examples ended in an error (5 of them: toymodel:short_only raised ValueError: too long" in said
    assert "accuracy" not in out
    assert len(records(place / "run")) == 6, "what was finished is kept"


def test_a_run_in_which_every_attacked_text_ends_in_an_error_does_not_end_as_a_rate(place, type_in):
    wrong = "\n".join(f'"{text}",{"neg" if label == "pos" else "pos"}' for text, label in ROWS[:4])
    (place / "half.csv").write_text(f"text,label\n{wrong}\na great story,pos\nbad acting,neg\n")
    translators = ("--set", "there=toymodel:nothing", "--set", "back=toymodel:nothing")
    words = ("attack", "back-translation", "--victim", "toymodel:predict", "--data", "half.csv", *translators)
    code, out, said = type_in(*words, "--out", "run", "--json")
    assert sorted(one["status"] for one in records(place / "run")) == ["error"] * 2 + ["skipped"] * 4
    assert code == 2
    assert "2 of 6 examples ended in an error (2 of them: toymodel:nothing" in said
    assert "accuracy" not in out + said


def test_an_attack_shows_its_own_run_and_none_below(place, type_in):
    assert type_in(*attack("--out", "runs/first", "--quiet"))[0] == 0
    code, out, _ = type_in(*attack("--out", "runs"))
    assert code == 0
    assert "accuracy under attack" in out
    assert "#2" not in out


def test_an_attack_that_is_named_twice_runs_once(place, type_in):
    words = (
        "--victim",
        "toymodel:predict",
        "--data",
        "reviews.csv",
        "--attacks",
        "keyboard,keyboard",
        "--out",
        "twice",
    )
    code, out, _ = type_in("audit", "--validity", "paper", *words, "--json", "--quiet")
    assert code == 0
    assert [run["recipe"] for run in json.loads(out)["runs"]] == ["keyboard"]


def test_an_audit_goes_on_past_a_broken_victim(place, type_in):
    code, out, said = type_in(
        *("audit", "--validity", "paper", "--victim", "toymodel:nan,toymodel:predict", "--data", "reviews.csv"),
        *("--attacks", "homoglyph", "--out", "card", "--json"),
    )
    assert code == 0
    assert "toymodel:nan under homoglyph" in said
    assert [r["victim"] for r in json.loads(out.splitlines()[-1])["runs"]] == ["toymodel:predict"]


def test_scores_that_are_no_probabilities_are_taken_and_said(place, type_in):
    code, _, said = type_in(*attack("--victim", "toymodel:scores", "--out", "run"))
    assert code == 0
    assert "do not sum to one" in said


def test_a_cache_file_answers_the_second_time(place, type_in):
    for out in ("first", "second"):
        assert type_in(*attack("--out", out, "--cache", "answers.db", "--quiet"))[0] == 0
    assert (place / "answers.db").stat().st_size > 0
    first, second = ({o["id"]: o["adversarial"] for o in records(place / n)} for n in ("first", "second"))
    assert first == second


def test_a_cache_keeps_the_order_of_the_labels(place, type_in):
    (place / "turned.py").write_text(
        "from toymodel import predict\nfrom malaprop.models.victims.strings import StringVictim\n"
        "victim = StringVictim(call=lambda texts: predict(texts)[:, ::-1], name='turned', label_names=('pos', 'neg'))\n"
    )
    try:
        for more in ((), ("--cache", "answers.db")):
            code, out, _ = type_in(*attack("--victim", "turned:victim", "--out", f"run{len(more)}", "--json", *more))
            assert code == 0
            assert json.loads(out.splitlines()[-1])["clean_accuracy"]["value"] == 1.0
    finally:
        sys.modules.pop("turned", None)


def test_a_full_disk_keeps_what_was_finished(place, type_in, monkeypatch):
    import os

    real, written = os.write, []

    def write(fd: int, data: bytes) -> int:
        if bytes(data).startswith(b'{"id"'):
            written.append(data)
            if len(written) == 4:
                raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    code, _, said = type_in(*attack("--out", "run", "--quiet", "--width", "1"))
    monkeypatch.undo()
    assert code == 2
    assert len(said.splitlines()) == 1
    assert len(records(place / "run")) == 3


@pytest.mark.parametrize(
    ("columns", "whole"), [("80", ["BiLSTM-WC-Random-1", "accuracy", "73.7%", "12.34"]), ("130", ["1568502"])]
)
def test_no_figure_of_a_list_is_broken_by_a_narrow_terminal(place, type_in, monkeypatch, columns, whole):
    row = {"name": "BiLSTM-WC-Random-1", "state": "on first use", "data": "reviews.jsonl", "accuracy": "73.7%"}
    row |= {"MB": 12.34, "parameters": 1568502, "date": "2026-11-15", "reads": "words and characters"}
    monkeypatch.setattr("malaprop.zoo.cache.listing", lambda: [row])
    monkeypatch.setenv("COLUMNS", columns)
    code, out, _ = type_in("list", "models", "--json")
    assert code == 0
    assert json.loads(out.splitlines()[-1])["items"] == [row]
    table = out[: out.index('{"command"')]
    assert all(word in table for word in whole)


def test_the_detectors_are_listed_among_the_defences(type_in):
    code, out, _ = type_in("list", "defences", "--json", "--quiet")
    assert code == 0
    listed = {one["name"]: one["what"] for one in json.loads(out)["items"]}
    assert [name for name in listed if name.startswith("detect:")] == [f"detect:{name}" for name in DETECTORS]
    assert all(listed.values())
    assert {"freelb", "purify"} <= set(listed)


def test_lists_and_help(place, type_in):
    code, out, _ = type_in("list", "recipes", "--json", "--quiet")
    assert code == 0
    assert {"pwws", "textfooler", "genetic"} <= {item["name"] for item in json.loads(out)["items"]}
    for command in ("audit", "attack", "train", "report", "list", "fetch", "explain"):
        code, out, _ = type_in(command, "--help")
        assert code == 0
        assert "malaprop " + command in out, "every command shows an example"


def test_the_speed_comparison_says_which_package_it_comes_with(place, type_in, monkeypatch):
    monkeypatch.setattr("malaprop.cli.main.plugins", dict)
    code, _, error = type_in("bench")
    assert code == 2
    assert "malaprop-bench" in error
