"""harden auto: what it chooses by hand, wrappers around a function, and a larger budget that goes on."""

from __future__ import annotations

import pytest
import toy

from malaprop.core.victim import REJECTED
from malaprop.models.victims.strings import StringVictim
from malaprop.records.autoharden import AutoTrial, choose_few, choose_one
from malaprop.records.summary import Rate
from malaprop.runs.local import run
from malaprop.studies import hardentrials
from malaprop.studies.harden import Harden
from malaprop.studies.hardenauto import AutoHarden, read_span, show_span
from malaprop.studies.settings import build
from malaprop.studies.study import conduct


def trial(method: str, clean: int, worst: int, stage: int = 2) -> AutoTrial:
    return AutoTrial(method=method, stage=stage, epochs=1, clean=Rate(clean, 100), worst=Rate(worst, 100))


PLAIN = trial("none", 80, 10)


@pytest.mark.parametrize(
    ("others", "chosen", "said"),
    [
        ([trial("a", 79, 30), trial("b", 78, 40), trial("c", 70, 60)], "b", "b leaves most under the worst attack"),
        ([trial("a", 77, 30)], "none", "a would leave more and lose more than 2 points"),
        ([trial("a", 90, 10)], "none", "none leaves more under the worst attack within 2 points"),
        ([], "none", "no time to try any method"),
    ],
)
def test_the_most_under_the_worst_attack_within_the_loss(others, chosen, said):
    found, why = choose_one([PLAIN, *others], 2)
    assert found == chosen
    assert said in why
    assert "10.0% (10/100" in why  # what the plain model leaves


def test_few_go_on_and_what_fails_does_not():
    names = {"a": (80, 20), "b": (74, 30), "c": (72, 50), "d": (80, 25), "e": (80, 5)}
    short = [trial(name, *figures, stage=1) for name, figures in names.items()]
    failed = AutoTrial(method="f", stage=1, epochs=1, reason="it cannot be trained")
    assert choose_few([*short, failed], PLAIN, 2) == ["b", "d", "a"]  # c loses 8 points, more than 2 and the slack


def test_against_characters_other_methods_are_tried():
    def methods(**more):
        return AutoHarden(build(Harden, {"method": "auto", "model": "BERT", **more})).methods

    assert "ascc" in methods(attacks="pwws,typos")
    assert methods(attacks="typos,keyboard")[:2] == ("blackbox", "augment:recipe=typos:budget=100")
    assert "purify:spell" in methods(model="mine:predict")


def test_times_as_they_are_typed():
    assert [read_span(said) for said in ("90s", "30m", "2h", "1h30m")] == [90, 1800, 7200, 5400]
    assert [show_span(seconds) for seconds in (0.2, 90, 130, 9000)] == ["1s", "90s", "3m", "2.5h"]


@pytest.fixture
def place(tmp_path, monkeypatch, tiny_assets):
    monkeypatch.chdir(tmp_path)
    rows = [f"the {('story', 'film')[i % 2]} {i} was {('awful', 'great')[i % 2]},{i % 2}" for i in range(120)]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_around_a_function_defences_are_tried_and_named_as_victims(place):
    def search(**more):
        given = {"method": "auto", "model": "toy:predict", "data": "rows.csv", "attacks": "keyboard", "n": 6}
        methods = "ranmask:keep=0.7:samples=4(none),five"
        return conduct(build(Harden, {**given, "methods": methods, "device": "cpu", "quiet": True, "out": "x", **more}))

    found = search()
    record, trials = found.record, {one.method: one for one in found.record.trials}
    assert [one.stage for one in trials.values()] == [2] * 3
    assert "five moves the vectors of words" in trials["five"].reason
    assert trials["ranmask:keep=0.7:samples=4(none)"].judged
    assert record.victim.endswith("toy:predict)" if record.chosen != "none" else "toy:predict")
    assert "Hardening chosen" in found.report().read_text(encoding="utf-8")
    assert "cannot be trained here" in found.view.notes[0]


def test_a_transferred_text_that_is_rejected_is_no_success(monkeypatch):
    examples, attack = toy.some_examples(12), toy.listed()
    outcomes = list(run(attack, toy.victim(), examples))
    broken = {one.id for one in outcomes if one.status == "success"}
    rejecting = StringVictim(
        call=lambda texts: [[0.1, 0.1, 0.8]] * len(texts), name="r", labels=3, label_names=("no", "yes", REJECTED)
    )
    trials = object.__new__(hardentrials.HardenTrials)
    trials.inputs = {f"plain/{attack.name}": outcomes}
    monkeypatch.setattr(trials, "_attack", lambda *_: [])
    found = trials._findings(attack, rejecting, "reject", examples)
    assert broken
    assert found.transferred == dict.fromkeys(broken, True)


def test_a_method_that_adds_a_label_is_tried_where_it_is_named(place):
    given = {"method": "auto", "model": "CNN-W-Random-1", "data": "rows.csv", "attacks": "pwws", "n": 4, "out": "x"}
    given |= {"methods": "reject:tries=2", "device": "cpu", "quiet": True, "set": {"epochs": 1, "dim": 4, "filters": 2}}
    found = conduct(build(Harden, {**given, "budget": "1h", "loss": 100}))
    assert [(one.method, one.stage, one.reason) for one in found.record.trials][1:] == [
        ("reject:tries=2", 1, ""),
        ("reject:tries=2", 2, ""),
    ]


def test_a_larger_budget_goes_on_with_what_there_was_no_time_for(place, monkeypatch):
    given = {"method": "auto", "model": "CNN-W-Random-1", "data": "rows.csv", "attacks": "keyboard", "n": 4, "out": "x"}
    given |= {"methods": "flooding", "device": "cpu", "quiet": True, "set": {"epochs": 1, "dim": 4, "filters": 2}}
    with monkeypatch.context() as patch:
        patch.setattr(hardentrials.BudgetClock, "left", property(lambda _: 0.0))
        first = conduct(build(Harden, {**given, "budget": "1h"}))
    assert [(one.method, one.late) for one in first.record.trials] == [("none", False), ("flooding", True)]
    assert "no time was left for flooding" in first.view.troubles[0]
    second = conduct(build(Harden, {**given, "budget": "2h"}))
    assert [(one.method, one.stage, one.late) for one in second.record.trials] == [
        ("none", 2, False),
        ("flooding", 1, False),
        ("flooding", 2, False),
    ]
    assert (place / "x" / "model" / "model.json").is_file()
