"""harden auto: what it chooses by hand, wrappers around a function, and a larger budget that goes on."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from time import monotonic, sleep, time
from types import SimpleNamespace

import pytest
import toy

from malaprop.core.errors import LimitReached, MalapropError, SettingError
from malaprop.core.victim import REJECTED
from malaprop.features.defending import defended_models
from malaprop.features.defending.defended_models import put_behind
from malaprop.features.hardening import auto_trials as hardentrials
from malaprop.features.hardening.auto import AutoHarden, read_span, show_span
from malaprop.features.hardening.auto_budget import (
    AutoPlan,
    OutOfTime,
    TrialCosts,
    TrialPlan,
    choose_texts,
    cut_at,
    cut_pieces,
    time_methods,
)
from malaprop.features.hardening.auto_trials import AutoForecast
from malaprop.features.hardening.study import Harden
from malaprop.frame.records.autoharden import AutoTrial, choose_few, choose_one
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.local import run
from malaprop.frame.runs.victims import victim
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.models.victims.strings import StringVictim


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
        patch.setattr(hardentrials.HardenTrials, "left", property(lambda _: 0.0))
        first = conduct(build(Harden, {**given, "budget": "1h"}))
    assert [(one.method, one.late) for one in first.record.trials] == [("none", False), ("flooding", True)]
    assert "no time was left for flooding" in first.view.troubles[0]
    assert "try a larger --budget" in first.view.next
    second = conduct(build(Harden, {**given, "budget": "2h"}))
    assert [(one.method, one.stage, one.late) for one in second.record.trials] == [
        ("none", 2, False),
        ("flooding", 1, False),
        ("flooding", 2, False),
    ]
    assert "2h is enough for all 1 methods" in second.record.plan
    assert second.record.late == ()
    assert (place / "x" / "model" / "model.json").is_file()
    assert victim("x").name.startswith("CNN-W-Random-1")  # the search's folder is the model that it chose


# --- the budget


def test_work_is_cut_when_the_time_is_over_and_another_alarm_goes_on():
    heard = list[str]()
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append("theirs"))
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        clock = monotonic()
        with pytest.raises(OutOfTime), cut_at(time() + 0.1):
            sleep(60)
        assert monotonic() - clock < 20
        with pytest.raises(OutOfTime), cut_at(time() - 1):
            raise AssertionError("it is begun")
        sleep(0.6)
        assert heard == ["theirs"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_import_is_not_cut(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("from time import sleep\nsleep(0.4)\nthere = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def work():
        import slow_to_import

        sleep(60 * slow_to_import.there)

    with pytest.raises(OutOfTime), cut_at(time() + 0.1):
        work()
    assert sys.modules["slow_to_import"].there


def test_pieces_are_cut_while_they_are_made_and_not_while_they_are_written():
    def pieces():
        yield 1
        sleep(60)

    taken = cut_pieces(pieces(), time() + 0.3, "6s")
    assert next(taken) == 1
    sleep(0.5)  # whoever writes takes his time
    with pytest.raises(LimitReached, match="--budget 6s is used up"):
        next(taken)


@pytest.mark.parametrize(
    ("left", "methods", "staged"),
    [
        (100, ("a", "b", "c"), True),  # each shortly, and there is time for any of them in full
        (44, ("a", "b", "c"), True),
        (43, ("a", "c"), False),
        (20, ("a",), False),
        (9, (), False),
    ],
)
def test_the_plan_tries_as_many_methods_as_fit(left, methods, staged):
    costs = TrialCosts(full={"a": 10, "b": 30, "c": 20}, short={"a": 3, "b": 6, "c": 5})
    assert costs.fit(left) == TrialPlan(methods=methods, staged=staged)
    assert costs.all == 14 + 60


def test_fewer_texts_are_attacked_where_that_leaves_time_for_more_methods():
    def make(texts):
        return AutoPlan(costs=TrialCosts(full={"a": texts, "b": 2 * texts}), plain=texts, left=100)

    assert choose_texts(100, 20, make) == 25  # 100 would take 400 s in all, 25 take 100
    assert choose_texts(20, 20, make) == 20
    assert choose_texts(100, 60, lambda texts: make(1000 * texts)) == 60


def test_what_was_not_timed_is_taken_to_be_as_slow_as_the_slowest():
    def measure(method):
        sleep(60 if method == "slow" else 0)
        return 7.0

    found = time_methods(measure, ("a", "slow", "b"), {"none": 1.0}, time() + 0.3)
    assert found.epochs == {"none": 1.0, "a": 7.0, "slow": 7.0, "b": 7.0}
    assert found.guessed == ("slow", "b")


def slowly(texts):
    sleep(0.02 * len(texts))
    return toy.predict(texts)


@pytest.mark.parametrize("attack", ["pwws", "keyboard"])
def test_a_budget_holds_with_a_slow_victim(place, monkeypatch, attack):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    given = {"method": "auto", "model": "test_harden_auto:slowly", "data": "rows.csv", "attacks": attack, "n": 8}
    given |= {"methods": "ranmask:keep=0.7:samples=64(none),safer:samples=2(none)", "device": "cpu", "quiet": True}
    clock, ended = monotonic(), ""
    try:
        ended = conduct(build(Harden, {**given, "out": "x", "budget": "6s"})).record.plan
    except MalapropError as error:
        ended = str(error)
    assert monotonic() - clock < 40  # alone on a machine it is 7; a search that goes on takes minutes
    assert any(
        said in ended for said in ("not enough to try any of 2", "is enough for 1 of 2", "did not end", "used up")
    )


def once_slowly(texts):
    sleep(120 if len(texts) == 1 else 0)
    return toy.predict(texts)


def test_a_forecast_that_cannot_time_the_model_ends_in_half_of_the_budget(place, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    given = {"method": "auto", "model": "test_harden_auto:once_slowly", "data": "rows.csv", "attacks": "keyboard"}
    given |= {"methods": "ranmask:samples=2(none)", "device": "cpu", "quiet": True, "out": "x", "budget": "8s"}
    with pytest.raises(SettingError, match=r"loading .* took more than half of .* --budget 8s .*give 32s"):
        conduct(build(Harden, given))


def test_a_defence_that_is_not_timed_in_the_forecast_is_named(place, monkeypatch):
    given = {"method": "auto", "model": "toy:predict", "data": "rows.csv", "attacks": "keyboard", "n": 4}
    given |= {"methods": "ranmask:samples=2(none),randel:samples=2(none)", "device": "cpu", "quiet": True, "out": "x"}

    def wrap_slowly(spec, model):
        sleep(60 if spec.startswith("randel") else 0)
        return put_behind(spec, model)

    with monkeypatch.context() as patch:
        patch.setattr(defended_models, "put_behind", wrap_slowly)
        auto = AutoHarden(build(Harden, {**given, "budget": "20s"}))
        context = SimpleNamespace(place=SimpleNamespace(root=place), folder=place / "forecast", note=lambda _: None)
        context.victim = lambda _: victim("toy:predict")
        clock, forecast = monotonic(), AutoForecast(auto, context, {"texts": auto.study.texts.splits(), "none": ""})
        (found,) = forecast.make()
    assert monotonic() - clock < 15
    assert found.guessed == ("randel:samples=2(none)",)
    assert found.answers["randel:samples=2(none)"] >= found.answers["ranmask:samples=2(none)"]
    assert "not timed and taken to be as slow as the slowest: randel" in found.plan


# --- which rows


def test_rows_that_a_model_may_have_learnt_from_are_named(place):
    given = {"method": "auto", "model": "toy:predict", "data": "rows.csv", "attacks": "keyboard", "n": 6, "out": "x"}
    given |= {"methods": "fuse", "device": "cpu", "quiet": True}
    notes = list[str]()
    found = conduct(build(Harden, given), listen=[lambda said: notes.append(getattr(said, "text", ""))])
    doubt = "it may have been trained on these rows of rows"
    assert doubt in found.record.doubt
    assert found.record.data == "rows.csv:all"  # nothing is trained, so all rows are for judging
    assert doubt in found.view.troubles[0]
    assert "give a file of rows that it has not seen as --data" in found.view.troubles[0]
    assert any(doubt in note for note in notes)
    assert all("may have been trained on" in note for note in notes if note.startswith("stage 2") and "clean" in note)
    assert "may be rows that the model was trained on" in found.record.why
    page = found.report().read_text(encoding="utf-8")
    assert "Not held out" in page
    assert "validation texts" not in page


def test_a_model_of_the_zoo_has_not_seen_the_rows_it_is_judged_by(place):
    auto = AutoHarden(build(Harden, {"method": "auto", "model": "CNN-W-Random-1", "data": "rows.csv"}))
    assert auto.find_doubt(auto.study.texts.splits()) == ""
    assert {one.id for one in auto.sample(auto.study.texts.splits()).examples} <= {
        one.id for one in auto.study.texts.splits().held_out
    }


def test_where_nothing_wins_it_says_what_to_do(place):
    given = {"method": "auto", "model": "toy:predict", "data": "rows.csv", "attacks": "keyboard", "n": 6, "out": "x"}
    found = conduct(build(Harden, {**given, "methods": "five", "device": "cpu", "quiet": True}))
    assert found.record.chosen == "none"
    assert "nothing won: toy:predict stays as it is, and x holds no new model" in found.view.last
    assert "try training" in found.view.next
    assert victim("x").name == victim("toy:predict").name
