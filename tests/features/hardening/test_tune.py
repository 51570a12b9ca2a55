"""The search for settings: reproducible, resumable, on validation texts; the test part is looked at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import toy

import malaprop as mp
from malaprop.cli.main import main
from malaprop.core.errors import DataError, RecordError, SettingError, VictimError
from malaprop.features.hardening.tune import SPACES, RandomTrial, SettingsSearch, draw, narrow
from malaprop.features.hardening.tune_study import Tune
from malaprop.features.hardening.tuning_record import TunedAccuracy, TuningRecord, TuningTrial
from malaprop.frame.records.summary import Rate
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct


@pytest.fixture
def folder(tiny_assets, monkeypatch, tmp_path):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)
    monkeypatch.chdir(tmp_path)
    rows = [f"the {('good', 'great', 'bad', 'awful')[i % 4]} film {i},{int(i % 4 < 2)}" for i in range(200)]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    return tmp_path / "found"


WORDS = {"good": ("poor",), "great": ("poor",), "bad": ("nice",), "awful": ("nice",)}


def search(folder, **more):
    told = {
        "defence": "fuse", "victim": toy.victim(), "data": "rows.csv", "attack": toy.listed(WORDS), "out": folder,
        "n": 12, "fix": {"similarity": "off"}, "minutes": 10, "device": "cpu", "quiet": True,
    }  # fmt: skip
    return build(Tune, {**told, **more})


def run(folder, *, listen=(), **more):
    return conduct(search(folder, **more), listen=listen).record


def settings(record):
    return [one.settings for one in record.trials]


@pytest.mark.parametrize("sampler", ["random", "tpe", "plain"])
def test_what_was_stopped_goes_on_as_if_it_had_not_been(folder, sampler):
    whole = run(folder / "a", sampler=sampler, trials=4)
    run(folder / "b", sampler=sampler, trials=2)
    with (folder / "b" / "trials.jsonl").open("a") as file:
        file.write('{"number": 2, "sett')  # a kill in the midst of a line
    again = run(folder / "b", sampler=sampler, trials=4)
    assert settings(again) == settings(whole)
    assert [one.judged for one in again.trials] == [one.judged for one in whole.trials]
    assert len({json.dumps(one) for one in settings(whole)}) == 4
    assert all("similarity" in one and "floor" not in one for one in settings(whole))


def test_trials_are_only_ever_added(folder, monkeypatch):
    run(folder, sampler="plain", trials=2)
    first = (folder / "trials.jsonl").read_bytes()
    place = (folder / "trials.jsonl").stat().st_ino

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SettingsSearch, "_try", stop)
    with pytest.raises(KeyboardInterrupt):
        run(folder, sampler="plain", trials=3)
    assert (folder / "trials.jsonl").read_bytes() == first
    assert (folder / "trials.jsonl").stat().st_ino == place
    assert len(TuningRecord.read(folder).trials) == 2, "what was stopped can be reported"


def test_time_ends_it_after_a_trial(folder):
    assert len(run(folder, minutes=0, trials=9).trials) == 1


def test_the_test_part_is_looked_at_once_and_not_before(folder):
    record = run(folder, trials=3)
    assert record.plain.adversarial.hits == 0
    assert record.plain.adversarial.total > 0
    assert not (folder / "adversarial-test").exists()
    record = run(folder, trials=3, test=True)
    assert record.test is not None
    assert record.test.number == record.best.number
    assert TuningRecord.read(folder) == record
    for again in ({}, {"test": True}):
        with pytest.raises(RecordError, match="looked at its test part"):
            run(folder, trials=9, **again)
    (folder / "tuning.json").unlink()  # killed before the record was written
    with pytest.raises(RecordError, match="looked at its test part"):
        run(folder, trials=9)
    assert run(folder, trials=3, test=True) == record
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Search for settings" in page
    assert "Test, looked at once" in page


def test_another_search_in_the_same_folder_is_refused(folder):
    run(folder, minutes=0, trials=1)
    with pytest.raises(RecordError, match="seed = 0, and here it is 1"):
        run(folder, seed=1, trials=1)
    (folder / "study.toml").unlink()  # as of a search from before there were studies
    with pytest.raises(RecordError, match="seed 0, not 1"):
        run(folder, seed=1, trials=1)
    assert len(run(folder, minutes=10, trials=2).trials) == 2


def test_a_trial_that_fails_is_told_and_the_search_goes_on(folder, monkeypatch):
    make = Tune.make

    def fails_first(self, context, victim, given, number):
        if number == 0:
            raise SettingError("too much")
        return make(self, context, victim, given, number)

    monkeypatch.setattr(Tune, "make", fails_first)
    record = run(folder, trials=2)
    assert [one.reason for one in record.trials] == ["too much", ""]
    assert record.best.number == 1


def test_an_attack_that_breaks_nothing_leaves_nothing_to_search(folder):
    with pytest.raises(DataError, match="succeeded on none"):
        run(folder, attack=toy.listed({"film": ("movie",)}), trials=1)


def test_the_best_is_the_first_of_equals():
    both = TunedAccuracy(clean=Rate(5, 10), adversarial=Rate(5, 10))
    tries = tuple(TuningTrial(number=n, settings={}, judged=j, seconds=0.1) for n, j in enumerate((None, both, both)))
    record = TuningRecord(
        defence="five", victim="v", data="d", recipe="r", sampler="plain", seed=0, plain=both, trials=tries
    )
    assert record.best.number == 1
    assert both.value == 0.5


@pytest.mark.parametrize("name", SPACES)
def test_every_space_gives_settings_that_its_defence_takes(name):
    for number in range(40):
        given = draw(SPACES[name], {}, RandomTrial(0, number))
        if name == "fact":
            from malaprop.papers.firebert.fact import Fact

            Fact(**given)
        else:
            from malaprop.frame.runs.wrap import method

            method(name, given)


def test_fixing():
    with pytest.raises(SettingError, match="did you mean noise"):
        narrow(SPACES["five"], {"noize": 1})
    with pytest.raises(SettingError, match="nothing to search"):
        narrow({"noise": SPACES["five"]["noise"]}, {"noise": 1})


@pytest.mark.parametrize(
    ("defence", "fixed", "said"),
    [
        ("five", {"words": "x"}, "words must be a whole number of at least 1, got 'x'"),
        ("fuse", {"similarity": "off", "words": 0}, "words must be a whole number"),
        ("fact", {"part": "some"}, "part"),
    ],
)
def test_a_fixed_value_that_no_trial_could_take_is_refused_first(folder, defence, fixed, said):
    with pytest.raises(SettingError, match=said):
        run(folder, defence=defence, fix=fixed)


def test_texts_that_all_end_in_an_error_are_not_texts_that_hold(folder):
    def sleeps(texts):
        if (folder / "examined.json").is_file():  # awake as long as it is examined
            raise ValueError("asleep")
        return toy.predict(texts)

    with pytest.raises(VictimError, match=r"all 12 validation texts ended in an error.*asleep"):
        run(folder, victim=mp.victim(sleeps), trials=1)


def test_options_of_fact_are_refused_elsewhere(folder):
    with pytest.raises(SettingError, match="--model does nothing in tune fuse; it belongs to tune fact"):
        run(folder, model="CNN-W-Random-1")
    with pytest.raises(SettingError, match="--set does nothing in tune fuse; it belongs to tune fact"):
        run(folder, set={"epochs": 1})


def test_without_optuna_it_says_what_to_do(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SettingError, match="malaprop\\[tuning\\]"):
        search(folder, sampler="random").check()
    search(folder, sampler="plain").check()


def test_as_it_is_typed(folder, monkeypatch, capsys):
    Path("own_tuned_model.py").write_text("from toy import predict\n")
    monkeypatch.syspath_prepend(str(Path(toy.__file__).parent))
    monkeypatch.setattr("malaprop.frame.runs.make_attack.make_attack", lambda *_, **__: toy.listed(WORDS))

    def type_in(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", "tune", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    words = ("--victim", "own_tuned_model:predict", "--data", "rows.csv", "--n", 8, "--trials", 2, "--device", "cpu")
    code, out, err = type_in("fuse", *words, "--fix", "similarity=off", "--out", "typed", "--test", "--json")
    assert code == 0, err
    told = json.loads(out.splitlines()[-1])
    assert told["trials"] == 2
    assert set(told["test"]) == {"plain", "best"}
    assert "trial 2 of 2" in err
    assert type_in("sieve", *words)[0] == 2
    code, _, err = type_in("fuse", *words, "--sampler", "grid", "--out", "other")
    assert code == 2
    assert "random, tpe, plain" in err
