"""Many models at a time: what is there is left alone, and one that fails or dies takes no other with it."""

from __future__ import annotations

import json
import os

import pytest

import malaprop as mp
from malaprop.core.errors import DataError, RecordError, SettingError
from malaprop.features.training import zoo_study as zoo
from malaprop.features.training.zoo_study import markdown, table_rows
from malaprop.frame.records.trained import TrainedModel, TrainedRecord
from malaprop.frame.study.study import Result

SMALL = {"epochs": 1, "hidden": 4, "filters": 4}


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.csv"
    rows = [f"the {w} film {i} is {w},{y}" for i in range(40) for y, w in enumerate(("bad", "good"))]
    path.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def train_all(data, out=None, **more):
    more = {"set": SMALL, "device": "cpu", **more}
    return mp.train("all63", data, out=out, **more)


def test_some_of_them_with_two_seeds_and_one_that_fails(toy, own_cache, tmp_path, monkeypatch):
    monkeypatch.setattr("malaprop.frame.tasks.workers.processes.PRELOAD", ())
    only = ["CNN-W-Random-1", "LSTM-W-Random-2", "LSTM-WC-ELMo-1"]
    done = train_all(toy, tmp_path / "out", seeds=2, jobs=2, only=only)
    assert [model.name for model in done.record.models] == [
        "LSTM-WC-ELMo-1",
        "LSTM-WC-ELMo-1#2",
        "LSTM-W-Random-2",
        "CNN-W-Random-1",
        "CNN-W-Random-1#2",
    ]
    assert ["malaprop pretrain elmo" in model.reason for model in done.record.models] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == [
        "CNN-W-Random-1",
        "CNN-W-Random-1#2",
        "LSTM-W-Random-2",
    ]
    assert "2 of 5 models failed: LSTM-WC-ELMo-1, LSTM-WC-ELMo-1#2" in done.view.failed
    table = json.loads((tmp_path / "out" / "all63.json").read_text())
    assert [row["accuracy"] is None for row in table] == [True, True, False, False, False]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("model.safetensors")}
    again = train_all(toy, tmp_path / "out", seeds=2, jobs=2, only=only)
    assert again.record == done.record
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("model.safetensors")} == before
    assert done.victim("CNN-W-Random-1#2").predict(["a good film"]).shape == (1, 2)
    with pytest.raises(SettingError, match="no model is called"):
        train_all(toy, tmp_path / "out", only=["LSTM-W-Glov-1"])


def test_a_second_model_is_asked_for_by_its_name(toy, own_cache, tmp_path):
    only = ["CNN-W-Random-1#2", "CNN-W-Random-2", "CNN-W-Random-2#2"]
    done = train_all(toy, tmp_path / "out", set={"epochs": 1, "filters": 4}, jobs=1, only=only)
    assert [(model.name, model.seed) for model in done.record.models] == [
        ("CNN-W-Random-1#2", 1),
        ("CNN-W-Random-2", 0),
        ("CNN-W-Random-2#2", 1),
    ]


def test_without_a_folder_they_go_to_the_cache_and_are_found_there(toy, own_cache, tmp_path):
    small = {"set": {"epochs": 1, "filters": 4}, "jobs": 1}
    done = train_all(toy, only=["CNN-W-Random-1"], **small)
    place = done.place()
    assert place.is_relative_to(own_cache)
    weights = (place / "model.safetensors").stat().st_mtime_ns
    assert train_all(toy, only=["CNN-W-Random-1"], **small).place() == place
    assert (place / "model.safetensors").stat().st_mtime_ns == weights
    (tmp_path / "out").mkdir()
    place.rename(tmp_path / "out" / "CNN-W-Random-2")
    with pytest.raises(SettingError, match=r"holds CNN-W-Random-1 trained on toy\.csv; name another --out"):
        train_all(toy, tmp_path / "out", only=["CNN-W-Random-2"], **small)


def test_a_process_that_dies_is_one_failure(toy, own_cache, tmp_path, monkeypatch):
    monkeypatch.setattr("malaprop.frame.tasks.workers.processes.PRELOAD", ())
    monkeypatch.setattr(zoo, "train_member", dies_for_lstm)
    done = train_all(toy, tmp_path / "out", jobs=2, only=["LSTM-W-Random-1", "CNN-W-Random-1"])
    assert "worker was lost 3 times (exit code 9)" in done.record.models[0].reason
    assert done.record.models[1].figures["test_accuracy"] >= 0


_train_member = zoo.train_member


def dies_for_lstm(study, member, *rest):
    if member.spec.encoder == "LSTM":
        os._exit(9)
    yield from _train_member(study, member, *rest)


def test_the_table(tmp_path):
    def model(name, number, accuracy):
        figures = {"test_accuracy": accuracy} if accuracy else {}
        return TrainedModel(name=name, data="mr", number=number, figures=figures, reason="" if accuracy else "x")

    models = (model("LSTM-W-Random-1", 1, 0.75), model("LSTM-W-Random-1#2", 1, 0.5), model("BERT", 61, None))
    found = table_rows(TrainedRecord(command="train", models=models), "mr")
    assert markdown(found) == (
        "| no. | model | mr |\n| --- | --- | --- |\n| 1 | LSTM-W-Random-1 | 75.0%, 50.0% |\n| 61 | BERT | failed |\n"
    )
    other = [{**row, "data": "ag"} for row in found[:2]]
    assert "| 1 | LSTM-W-Random-1 | 75.0%, 50.0% | 75.0%, 50.0% |" in markdown([*found, *other])
    assert "| 61 | BERT | failed | - |" in markdown([*found, *other])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"text,label\n", "holds no rows"),
        (b"text,label\n" + b"a good one,1\n" * 150, "fewer than two labels|one label only"),
        (b"text,label\na,0\nb,1\n", "too few"),
        (b"text,label\ncaf\xe9,0\n", "is not UTF-8"),
    ],
)
def test_bad_files_leave_nothing_behind(content, message, tmp_path, own_cache):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        mp.train("CNN-W-Random-1", path, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_wrong_name_or_setting_is_said_before_the_data_is_read(tmp_path):
    with pytest.raises(SettingError, match=r"did you mean .*CNN-W-Random-1"):
        mp.train("CNN-W-Randm-1", "nowhere.csv", out=tmp_path / "m")
    with pytest.raises(SettingError, match="did you mean epochs"):
        mp.train("CNN-W-Random-1", "nowhere.csv", out=tmp_path / "m", set={"epoch": 1})


def test_a_model_in_python_and_one_that_is_hardened(toy, tmp_path):
    small = {"epochs": 1, "filters": 4}
    made = mp.train("CNN-W-Random-1", toy, set=small, device="cpu")
    assert made.figures == made.card.figures
    assert made.card.name == "CNN-W-Random-1"
    hard = mp.harden("miyato:virtual=true", model="CNN-W-Random-1", data=toy, set=small, device="cpu")
    assert isinstance(hard, Result)
    assert hard.card.name == "CNN-W-Random-1+miyato-virtual"
    assert mp.attack("keyboard", hard.victim(), [("a good film", 1)])[0].status in ("success", "failed", "skipped")
    card = mp.harden("CNN-W-Random-1", method="miyato", data=toy, out=tmp_path / "h", settings=small, device="cpu")
    assert card.name == "CNN-W-Random-1+miyato"
    with pytest.raises(SettingError, match="name a folder for it"):
        mp.harden("CNN-W-Random-1", method="miyato", data=toy)


def test_a_folder_with_other_things_is_left_alone(toy, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="exists and is not a model"):
        mp.train("CNN-W-Random-1", toy, out=tmp_path)


def test_a_setting_that_is_left_out_the_second_time_is_missed(toy, tmp_path):
    how = {"model": "CNN-W-Random-1", "data": toy, "set": {"epochs": 1, "filters": 4}, "out": tmp_path / "m"}
    mp.harden("blackbox", r=0.3, device="cpu", **how)
    with pytest.raises(RecordError, match=r"r = 0\.3, and here it is None"):
        mp.harden("blackbox", device="cpu", **how)
