"""Many models at a time: what is there is left alone, and one that fails or dies takes no other with it."""

from __future__ import annotations

import json
import os

import pytest

from malaprop.core.errors import DataError, SettingError
from malaprop.models.train import Given
from malaprop.runs import zoo
from malaprop.runs.zoo import Outcome, markdown, train, train_all, write_table

SMALL = Given(settings={"epochs": 1, "hidden": 4, "filters": 4})


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.csv"
    rows = [f"the {w} film {i} is {w},{y}" for i in range(40) for y, w in enumerate(("bad", "good"))]
    path.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def test_some_of_them_with_two_seeds_and_one_that_fails(toy, own_cache, tmp_path):
    said = []
    only = ["CNN-W-Random-1", "LSTM-W-Random-2", "LSTM-WC-ELMo-1"]
    done = train_all(toy, tmp_path / "out", seeds=2, jobs=2, only=only, given=SMALL, say=said.append)
    assert [o.name for o in done] == [
        "LSTM-WC-ELMo-1",
        "LSTM-WC-ELMo-1#2",
        "LSTM-W-Random-2",
        "CNN-W-Random-1",
        "CNN-W-Random-1#2",
    ]
    assert ["malaprop pretrain elmo" in o.reason for o in done] == [True, True, False, False, False]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "CNN-W-Random-1",
        "CNN-W-Random-1#2",
        "LSTM-W-Random-2",
    ]
    assert sum(line.startswith("[") for line in said) == 5
    again = train_all(toy, tmp_path / "out", seeds=2, jobs=2, only=only[:2], given=SMALL, say=said.append)
    assert all(o.there for o in again)
    assert [o.figures for o in again] == [o.figures for o in done[2:]]
    with pytest.raises(SettingError, match="no model is called"):
        train_all(toy, tmp_path / "out", only=["LSTM-W-Glov-1"])


def test_a_process_that_dies_is_one_failure(toy, own_cache, tmp_path, monkeypatch):
    monkeypatch.setattr(zoo, "_child", dies_for_lstm)
    done = train_all(
        toy, tmp_path / "out", jobs=2, only=["LSTM-W-Random-1", "CNN-W-Random-1"], given=SMALL, say=lambda line: None
    )
    assert "exit code 9" in done[0].reason
    assert done[1].figures["test_accuracy"] >= 0


def dies_for_lstm(answer, task, *rest):
    if task.spec.encoder == "LSTM":
        os._exit(9)
    from malaprop.runs.zoo import _alone

    card = _alone(task, *rest)
    answer.send((card.figures, card.about, ""))


def test_the_table(tmp_path):
    def outcome(name, number, accuracy):
        figures = {"test_accuracy": accuracy} if accuracy else {}
        return Outcome(
            name=name, number=number, folder="f", seconds=1.0, figures=figures, reason="" if accuracy else "x"
        )

    rows = [outcome("BERT", 61, None), outcome("LSTM-W-Random-1", 1, 0.75), outcome("LSTM-W-Random-1#2", 1, 0.5)]
    plain, page = write_table(rows, tmp_path / "t", "all63", "mr")
    assert page.read_text() == (
        "| no. | model | mr |\n| --- | --- | --- |\n| 1 | LSTM-W-Random-1 | 75.0%, 50.0% |\n| 61 | BERT | failed |\n"
    )
    found = json.loads(plain.read_text())
    other = [{**row, "data": "ag"} for row in found[1:]]
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
        train("CNN-W-Random-1", str(path), tmp_path / "m", quiet=True)
    assert not (tmp_path / "m").exists()


def test_a_wrong_name_or_setting_is_said_before_the_data_is_read(tmp_path):
    with pytest.raises(SettingError, match=r"did you mean .*CNN-W-Random-1"):
        train("CNN-W-Randm-1", "nowhere.csv", tmp_path / "m")
    with pytest.raises(SettingError, match="or epochs"):
        train("CNN-W-Random-1", "nowhere.csv", tmp_path / "m", given=Given(settings={"epoch": 1}))
