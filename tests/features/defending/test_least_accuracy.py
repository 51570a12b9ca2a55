"""detect fit --least-accuracy: the strictest threshold that leaves so many originals right; by every road."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
import toy

import malaprop as mp
from malaprop.cli.main import main
from malaprop.core.errors import SettingError
from malaprop.features.defending.detection.detector import (
    DetectorCard,
    FitTexts,
    cut_held_out,
    cut_texts,
    fit_detector,
    read_detector,
)
from malaprop.features.defending.detection.rates import find_strictest
from malaprop.features.defending.detection_record import DetectionRecord, terminal
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.defended import cut_up
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct

CARD = DetectorCard(method="wdr", victim="toy", labels=("no", "yes"), data="d", false_positives=0.05, threshold=0.5)
RIGHT = {f"r{n}": (f"good poor film v{n} {'fine ' * (n % 7)}",) for n in range(160)}
WRONG = {f"w{n}": (f"bad film v{n}",) for n in range(40)}
ASKED = [id for pair in zip(list(RIGHT)[:40], WRONG, strict=True) for id in pair] + list(RIGHT)[40:]
BROKEN = [(id, (text[0].replace("good", "goof"),)) for id, text in RIGHT.items()]
TEXTS = FitTexts(clean=RIGHT, attacked=BROKEN, corpus=(), tried=(list(RIGHT),), asked=ASKED)


@pytest.fixture
def rows(tmp_path):
    """A file of 240 texts, of which the toy victim answers nine in ten rightly."""
    rng, words = np.random.default_rng(0), [*toy.WEIGHTS, "film", "plot", "the", "of"]
    texts = [f"{' '.join(rng.choice(words, 9))} good w{n}" for n in range(240)]
    lines = (f"{text},{int(toy.weigh(text) > 0) ^ (n % 10 == 0)}\n" for n, text in enumerate(texts))
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(lines))
    return str(path)


@pytest.fixture
def type_in(monkeypatch, capsys):
    """What a user types, with its exit code and what is printed."""

    def type_words(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return type_words


def fit(rows, **more):
    given = {"method": "wdr", "victim": toy.predict, "data": rows, "attack": ["deepwordbug"], "goals": ["untargeted"]}
    return conduct(build(find_study("detect fit"), {**given, "quiet": True, "device": "cpu", "keep": False, **more}))


def test_the_strictest_threshold_by_hand():
    scores = [3.0, 1.0, 2.0, 5.0, 4.0, 4.0]
    assert find_strictest(scores, 10, 0.3) == 3.0  # three of ten are not above it
    assert find_strictest(scores, 10, 0.31) == 4.0
    assert find_strictest(scores, 10, 0.6) == 5.0
    assert find_strictest(list(range(100)), 100, 0.07) == 6  # though 0.07 * 100 is above 7
    assert find_strictest(scores, 10, 0.0001) == 1.0


@pytest.mark.parametrize("least", [0.8, 0.7, 0.5, 0.13])
def test_a_lower_threshold_leaves_too_few(least):
    card = replace(CARD, least_accuracy=least)
    made = fit_detector(toy.victim(), card, TEXTS)
    parts = cut_texts(TEXTS, counts=False)
    assert (len(parts.right), len(parts.wrong)) == (40, 10)
    scores = made.judge(toy.victim(), cut_up([RIGHT[id] for id in parts.right]), exact=False)
    left = (scores <= made.card.threshold).sum()
    assert made.card.left == Rate(left, 50)
    assert made.card.right == Rate(40, 50)
    assert left / 50 >= least
    lower = [(scores <= score).sum() for score in np.unique(scores) if score < made.card.threshold]
    assert all(many / 50 < least for many in lower)
    assert made.card.false_positives == pytest.approx(1 - left / 40, abs=1e-4)


def test_half_of_the_wrong_texts_goes_with_half_of_the_others():
    """Where half of the texts is given up to count words in; else the victim would seem worse than it is."""
    parts = cut_texts(TEXTS, counts=True)
    assert (len(parts.right), len(parts.wrong)) == (20, 5)


def test_texts_of_other_runs_are_no_part_of_the_accuracy():
    """Of those none was answered wrongly, for they were broken."""
    other = {f"o{n}": (f"great film {n}",) for n in range(80)}
    parts = cut_texts(replace(TEXTS, clean={**RIGHT, **other}, tried=(list(RIGHT), list(other))), counts=False)
    assert (len(parts.held), len(parts.right), len(parts.wrong)) == (60, 40, 10)


def test_an_accuracy_that_the_victim_has_not_got_is_refused_with_what_it_has():
    assert cut_held_out(replace(CARD, least_accuracy=0.8), TEXTS)
    with pytest.raises(
        SettingError, match=re.escape("toy has without a detector: it answers 80.0% (40/50, 67.0-88.8)")
    ):
        cut_held_out(replace(CARD, least_accuracy=0.81), TEXTS)


def test_a_plain_function_from_python(rows, tmp_path):
    made = fit(rows, least_accuracy=0.8, out=tmp_path / "guard")
    (model,) = made.record.models
    card = read_detector(tmp_path / "guard").card
    assert model.figures["least_accuracy"] == card.least_accuracy == 0.8
    assert "false_positives" not in model.figures
    assert model.rates["held_out_left"] == card.left
    assert card.left.total == 60
    assert card.right.hits > card.left.hits >= 48
    assert model.about.endswith("threshold by --least-accuracy 0.8")
    said = f"of the held-out texts {card.left} are answered rightly and not rejected; without the detector {card.right}"
    assert said in made.view.notes[0]
    assert str(card.left) in made.text
    assert made.view.summary["held_out_left"] == card.left.to_dict()


def test_the_victim_behind_it_has_that_accuracy_on_texts_like_these(rows, tmp_path):
    """Of all 240 texts, of which it has seen most: at least what the held-out ones kept, by their interval."""
    fit(rows, least_accuracy=0.8, out=tmp_path / "guard", victim="toy:predict")
    with open(rows, encoding="utf-8") as file:
        texts, labels = zip(*(line.strip().rsplit(",", 1) for line in list(file)[1:]), strict=True)
    answers = mp.victim(f"detect:{tmp_path / 'guard'}(toy:predict)").predict(list(texts)).argmax(1)
    right = np.mean([str(answer) == label for answer, label in zip(answers, labels, strict=True)])
    assert (answers == 2).any()
    assert right > read_detector(tmp_path / "guard").card.left.interval[0]


def test_the_old_rule_says_what_it_leaves_too(rows):
    made = fit(rows)
    (model,) = made.record.models
    assert model.figures["false_positives"] == 0.05
    assert model.about.endswith("threshold by --false-positives 0.05")
    assert model.rates["held_out_left"].hits >= 0.95 * model.rates["held_out_right"].hits
    assert made.view.notes[0].startswith("threshold by --false-positives 0.05: of the held-out texts ")


def test_a_toml_file_and_the_score_of_what_it_made(rows, tmp_path, type_in, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fit.toml").write_text(
        f'command = "detect fit"\nmethod = "wdr"\nvictim = "toy:predict"\ndata = "{rows}"\nattack = ["deepwordbug"]\n'
        'goals = ["untargeted"]\nleast_accuracy = 0.8\nout = "guard"\nkeep = false\ndevice = "cpu"\njson = true\n'
    )
    code, out, err = type_in("run", "fit.toml")
    assert code == 0, err
    found = json.loads(out.splitlines()[-1])
    assert found["least_accuracy"] == 0.8
    assert found["held_out_left"]["total"] == 60
    assert "threshold by --least-accuracy 0.8: of the held-out texts " in err
    given = {"folder": tmp_path / "guard", "data": [str(tmp_path / "guard")], "quiet": True, "device": "cpu"}
    scored = conduct(build(find_study("detect score"), given)).record
    card = read_detector(tmp_path / "guard").card
    assert (scored.least_accuracy, scored.false_positives) == (0.8, card.false_positives)
    assert "the most that leaves 80% of the held-out originals right" in terminal(scored)


def test_a_record_of_before_says_nothing_of_it():
    old = DetectionRecord(method="wdr", victim="v", fitted_on="d", false_positives=0.05, runs=())
    assert "5% allowed" in terminal(old)
    assert "leaves" not in terminal(old)


BAD = {
    "both": (["--least-accuracy", "0.8", "--false-positives", "0.05"], "give one of the two"),
    "percent": (["--least-accuracy", "91"], "between 0 and 1, as 0.91, got 91"),
    "nothing": (["--least-accuracy", "0"], "between 0 and 1"),
    "negative": (["--least-accuracy=-0.5"], "between 0 and 1"),
    "not finite": (["--least-accuracy", "nan"], "between 0 and 1"),
    "a word": (["--least-accuracy", "most"], "a number"),
    "too much": (["--least-accuracy", "0.95"], "it answers 90.0% (54/60, 79.9-95.3) of the held-out texts rightly"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_one_line_and_exit_code_two(case, rows, type_in, tmp_path):
    """What the victim has is said before anything is attacked."""
    more, said = BAD[case]
    words = ["--victim", "toy:predict", "--data", rows, "--attack", "deepwordbug", "--device", "cpu", "--quiet"]
    code, _, err = type_in("detect", "fit", "wdr", *words, *more, "--out", tmp_path / "guard")
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert said in err
    assert not (tmp_path / "guard" / "attacked").exists()
