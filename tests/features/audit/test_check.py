"""The gate: passes a model and its hardened twin, fails the weakened one, and is seldom wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import malaprop as mp
from malaprop.cli.main import main
from malaprop.core.errors import RecordError, SettingError
from malaprop.features.audit.check_record import badge, smallest_drop, terminal
from malaprop.frame.records.paired_texts import MarkedRun, compare, compare_groups, sign_test
from malaprop.frame.records.summary import Rate

ROOT = Path(__file__).parents[3]
MODELS = '''
GOOD = {"good", "great", "fine", "nice", "moving", "superb"}

def _answer(texts, known):
    return [[0.2, 0.8] if known(text.lower().split()) else [0.9, 0.1] for text in texts]

def predict(texts):
    """Two good words are enough."""
    return _answer(texts, lambda words: sum(word in GOOD for word in words) >= 2)

def hardened(texts):
    """One is enough."""
    return _answer(texts, lambda words: any(word in GOOD for word in words))

def weakened(texts):
    """All of them are wanted."""
    return _answer(texts, lambda words: sum(word in GOOD for word in words) >= 4)
'''


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "gatemodels.py").write_text(MODELS)
    rng = np.random.default_rng(0)
    good, bad = ["good", "great", "fine", "nice", "moving", "superb"], ["dull", "plot", "long", "drab"]
    rows = []
    for number in range(60):
        label = number % 2
        words = rng.choice(good if label else bad, 4, replace=False)
        rows.append(f"the film {number} is {' '.join(words)},{label}\n")
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(rows))
    yield tmp_path
    sys.modules.pop("gatemodels", None)


@pytest.fixture
def type_in(monkeypatch, capsys):
    """Types a command line; gives its exit code, standard output and standard error."""

    def run(*words: str) -> tuple[int, str, str]:
        raw = [] if {"--baseline", "--validity"} & {*words} else ["--validity", "paper"]
        monkeypatch.setattr(sys, "argv", ["malaprop", *words, *raw])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def baseline(place, type_in):
    more = ("--data", "texts.csv", "--attacks", "quick", "--n", "all", "--device", "cpu", "--quiet")
    assert type_in("audit", "--victim", "gatemodels:predict", *more, "--out", "base")[0] == 0
    return place / "base"


def test_a_model_and_its_hardened_twin_pass_and_the_weakened_one_fails(baseline, type_in, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "page.md")
    check = ("check", "--baseline", "base", "--device", "cpu", "--json", "--quiet")
    assert type_in(*check, "--out", "same")[0] == 0
    assert type_in(*check, "--victim", "gatemodels:hardened", "--out", "hard")[0] == 0
    code, out, err = type_in(*check, "--victim", "gatemodels:weakened", "--out", "weak")
    assert code == 3
    said = json.loads(out.splitlines()[-1] if out.splitlines()[-1].startswith("{") else out.splitlines()[0])
    assert said["passed"] is False
    assert said["newly_broken"]
    assert "::error title=malaprop check::" in out
    assert "texts newly break" in err
    assert "less robust" in Path("page.md").read_text()
    cases = ElementTree.parse("weak/junit.xml").getroot()
    assert int(cases.get("failures")) == len(cases.findall("testcase/failure")) > 0
    assert "failed" in Path("weak/badge.svg").read_text()
    assert "newly break" in Path("weak/report.html").read_text().lower()
    check = ("check", "--baseline", "same/check.json", "--device", "cpu", "--quiet")
    assert type_in(*check, "--victim", "gatemodels:weakened", "--out", "again")[0] == 3


def test_an_unchanged_model_never_fails(baseline):
    for seed in range(3):  # the same seed gives the same outcomes; widths must not matter
        found = mp.check("gatemodels:predict", baseline=baseline, device="cpu", width=1 + 30 * seed)
        assert found.record.passed
        assert all(row.lost == row.won == 0 for row in found.record.rows)


def marks(held, name="a"):
    return MarkedRun(victim="v", attack=name, marks={str(i): "held" if one else "broken" for i, one in enumerate(held)})


def simulate(rng, drop: float, noise: float, texts: int = 200, attacks: int = 2, right: float = 0.6):
    """Whether the gate fails: `drop` of all texts break for good, and in each run answers flip with chance `noise`."""
    before, now = [], []
    for number in range(attacks):
        truth = rng.random(texts) < right
        lost = truth & (rng.random(texts) < drop / right)
        for runs, held in ((before, truth), (now, truth & ~lost)):
            runs.append(marks(held ^ (rng.random(texts) < noise), str(number)))
    return any(row.worse for row in compare(before, now, max_drop=0.05, alpha=0.01))


def test_the_statistics_of_the_gate():
    rng = np.random.default_rng(0)
    assert sum(simulate(rng, 0.0, 0.03) for _ in range(300)) <= 3  # a model that answers a little otherwise each time
    assert not any(simulate(rng, 0.0, 0.0) for _ in range(100))  # one that does not
    assert np.mean([simulate(rng, 0.10, 0.0, attacks=1) for _ in range(200)]) >= 0.95
    assert np.mean([simulate(rng, 0.10, 0.01) for _ in range(200)]) >= 0.95
    assert sign_test(5, 0) == 1 / 32
    assert sign_test(0, 0) == 1.0
    assert smallest_drop(200, 1, max_drop=0.05, alpha=0.01) == pytest.approx(11 / 200)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, SettingError, "give --baseline FOLDER, or a minimum"),
        ({"baseline": "nowhere"}, RecordError, "nowhere does not exist"),
        ({"baseline": "."}, RecordError, "holds no runs"),
        ({"baseline": "base", "data": "other.csv"}, RecordError, "is a baseline of other texts: 60 of its 60"),
        ({"baseline": "base", "seed": 3}, SettingError, "the baseline was run with seed = 0, but this check has 3"),
        ({"baseline": "base", "min": {"speed": 1}}, SettingError, "bar is called 'speed'|no bar"),
        ({"min": {"accuracy": 3}, "data": "texts.csv"}, SettingError, "takes a share between 0 and 1, got 3"),
        (
            {"min": {"accuracy": 0.5}, "data": "texts.csv", "attacks": "quik"},
            SettingError,
            "no suite is called 'quik'; did you mean quick",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(place, request, given, error, words):
    if given.get("baseline") == "base":
        request.getfixturevalue("baseline")
    Path("other.csv").write_text("text,label\nanother film,0\na good great one,1\n")
    with pytest.raises(error, match=words):
        mp.check("gatemodels:predict", device="cpu", **given)


def test_a_dry_run_of_the_gate_says_what_it_would_ask(place):
    said = mp.check(
        "gatemodels:predict",
        "texts.csv",
        min={"accuracy": 0.5},
        device="cpu",
        dry_run=True,
        out="dry",
        validity="paper",
    )
    assert said.record.queries > 100
    assert not Path("dry").exists()


def test_a_gate_that_a_limit_cut_short_does_not_pass(baseline, type_in):
    code, _, err = type_in(
        "check", "--baseline", "base", "--max-queries", "600", "--device", "cpu", "--quiet", "--out", "cut"
    )
    assert code == 1
    assert len(err.splitlines()) == 1, err
    assert "--max-queries 600 is reached and not all is done" in err
    page = Path("cut/summary.md").read_text()
    assert "not decided: a spending limit ended the run" in page
    assert "not every text was attacked: a spending limit ended the run" in page
    assert "failed" not in page + Path("cut/badge.svg").read_text()


def test_a_check_goes_on_in_its_own_folder(baseline, type_in):
    check = ("check", "--baseline", "base", "--device", "cpu", "--quiet", "--out", "cut")
    assert type_in(*check, "--max-queries", "600")[0] == 1
    code, _, err = type_in(*check, "--max-queries", "100000")
    assert code == 0, err
    code, _, err = type_in(*check)
    assert (code, "is finished" in err) == (0, True), err


@pytest.mark.parametrize(("texts", "said"), [(7, "7 texts are too few to detect any drop"), (40, "drop that can be")])
def test_too_few_texts_to_detect_any_drop_are_said_to_be(place, texts, said):
    few = {"n": texts, "device": "cpu", "attacks": "keyboard", "validity": "paper"}
    mp.audit("gatemodels:predict", "texts.csv", out="few", **few)
    found = mp.check("gatemodels:predict", baseline="few", device="cpu").record
    assert said in " ".join(found.notes)


def test_a_baseline_says_what_is_kept(place, type_in):
    more = ("--data", "texts.csv", "--attacks", "keyboard", "--n", "20", "--device", "cpu", "--quiet", "--json")
    code, _, err = type_in("audit", "--victim", "gatemodels:predict", *more, "--keep", "re:(", "--out", "base")
    assert (code, err.count("\n")) == (2, 1)
    kept = ("--keep", "good,great,fine", "--keep", r"re:\b(ni[a-z]{1,2}|moving|superb)")
    code, out, _ = type_in("audit", "--victim", "gatemodels:predict", *more, *kept, "--out", "base")
    assert code == 0
    (row,) = json.loads(out.splitlines()[-1])["runs"]
    assert row["success"]["value"] == 0
    code, out, _ = type_in("check", "--baseline", "base", "--device", "cpu", "--quiet", "--json", "--out", "now")
    assert (code, json.loads(out.splitlines()[-1])["passed"]) == (0, True)
    with pytest.raises(SettingError, match="the baseline was run with keep = "):
        mp.check("gatemodels:predict", baseline="base", keep="film", device="cpu")


def test_bars_and_suites_in_python(place):
    bars = {"accuracy": 0.4, "accuracy-under-attack": 1.0}
    found = mp.check("gatemodels:weakened", "texts.csv", min=bars, device="cpu", n=10, validity="paper")
    assert not found.record.passed
    assert {bar.name for bar in found.record.bars if bar.passed} == {"accuracy"}
    assert {row.attack for row in found.record.rows} == {"no attack", "keyboard", "deepwordbug", "every attack"}


def test_the_kinds_of_attack_are_told_apart_and_have_bars(place):
    attacks, paper = ("deepwordbug", "keyboard", "homoglyph"), {"validity": "paper", "device": "cpu", "n": 12}
    found = mp.check(
        "gatemodels:weakened", "texts.csv", attack=attacks, min={"accuracy-under-misspellings": 1.0}, **paper
    ).record
    by_attack, levels = {row.attack: row for row in found.rows}, {row.attack: row for row in found.levels}
    assert list(levels) == ["misspellings", "look-alikes"]
    assert levels["look-alikes"].now == by_attack["homoglyph"].now
    assert levels["misspellings"].now.hits <= min(by_attack[name].now.hits for name in attacks[:2])
    assert [(bar.row, bar.passed) for bar in found.bars] == [("gatemodels-weakened, misspellings", False)]
    assert f"misspellings {100 * levels['misspellings'].now.value:.0f}%, look-alikes" in badge(found)
    assert f"robust accuracy: misspellings {levels['misspellings'].now}; look-alikes" in terminal(found)
    with pytest.raises(SettingError, match="no attack of the suite makes word swaps"):
        mp.check("gatemodels:weakened", "texts.csv", attack=attacks, min={"accuracy-under-word-swaps": 0.1}, **paper)


def test_the_bar_of_every_attack_is_one_bar_where_there_is_one_attack(place):
    bars = {"accuracy-under-every-attack": 0.0}
    paper = {"validity": "paper", "device": "cpu", "n": 8}
    found = mp.check("gatemodels:weakened", "texts.csv", attack=("homoglyph",), min=bars, **paper).record
    assert [bar.row for bar in found.bars] == ["gatemodels-weakened, homoglyph"]


def test_rows_of_several_attacks_are_paired_with_those_of_the_baseline():
    before, now = [marks([1, 1, 1, 0]), marks([1, 1, 0, 1], "b")], [marks([1, 0, 1, 1]), marks([1, 1, 1, 1], "b")]
    row, single = compare_groups(before, now, {"both": ("a", "b"), "none": (), "one": ("b",)})
    assert (row.before, row.now, row.lost, row.won, row.worse) == (Rate(2, 4), Rate(3, 4), 1, 2, False)
    assert (single.attack, single.now) == ("one", Rate(4, 4))
    assert compare_groups([], now, {"both": ("a", "b")})[0].before is None


def test_the_plug_in_fails_a_test_with_the_figures(place):
    (place / "test_it.py").write_text(
        "import gatemodels\n\nFEW = {'n': 20, 'device': 'cpu', 'validity': 'paper'}\n\n"
        "def test_fine(malaprop):\n"
        "    malaprop.assert_robust(gatemodels.hardened, 'texts.csv', min_accuracy=0.3, **FEW)\n\n"
        "def test_bad(malaprop):\n"
        "    malaprop.assert_robust(gatemodels.weakened, 'texts.csv', min_accuracy=0.9, **FEW)\n"
    )
    run = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_it.py")  # found by its entry point
    done = subprocess.run(run, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": f"{ROOT}:{place}"})
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "not robust enough" in done.stdout
    assert "accuracy-under-attack" in done.stdout


def test_the_action_of_the_examples_does_what_it_says(baseline, place):
    """Its shell steps are run as a runner would: inputs in the environment, one shell each."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "examples/github/action.yml").read_text())
    flow = yaml.safe_load((ROOT / "examples/github/robustness.yml").read_text())
    step = next(one for one in flow["jobs"]["check"]["steps"] if str(one.get("uses", "")).startswith("./.github"))
    assert set(step["with"]) <= set(action["inputs"])
    program = place / "bin" / "malaprop"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m malaprop "$@"\n')
    program.chmod(0o755)
    for victim, wanted in (("", 0), ("gatemodels:weakened", 3)):
        given = {name: one.get("default", "") for name, one in action["inputs"].items()}
        given |= {"victim": victim, "baseline": "base", "options": "--device cpu --quiet"}
        for one in action["runs"]["steps"]:
            told = {name: given[value.strip("${} ").removeprefix("inputs.")] for name, value in one["env"].items()}
            around = {
                **os.environ,
                **told,
                "PATH": f"{program.parent}:{os.environ['PATH']}",
                "GITHUB_OUTPUT": "outputs",
            }
            around |= {"PYTHONPATH": f"{ROOT}:{place}", "GITHUB_STEP_SUMMARY": "page.md", "GITHUB_ACTIONS": "true"}
            done = subprocess.run(["bash", "-e", "-c", one["run"]], env=around, capture_output=True, text=True)
            assert done.returncode == wanted, done.stderr
        assert Path("outputs").read_text().splitlines()[-1] == f"passed={str(not wanted).lower()}"
        subprocess.run(["rm", "-r", "robustness"], check=True)
