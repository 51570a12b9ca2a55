import json

import numpy as np
import pytest

from malaprop.bench import compare
from malaprop.bench.child import BenchError
from malaprop.bench.measured import Ended, Measured
from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.data import Dataset

TEXTS = ["a good film", "a bad film", "good", "bad", "no opinion"]


class Victim:
    """Says 1 where a text holds `good`."""

    name = "toy"

    def predict(self, texts):
        good = np.asarray(["good" in text for (text,) in texts], np.float32)
        return np.stack([1 - good, good], 1)


def measured(rows, wall, **more):
    ended = tuple(Ended(status="success", text=text + " !", queries=2) for text, _ in rows)
    return Measured(tool="t", threads=1, wall_s=wall, model_s=0, forwarded=1, outcomes=ended, **more)


@pytest.fixture
def table(monkeypatch):
    """Both sides replaced by values; keeps the calls."""
    calls = []
    walls = iter([8.0, 2.0, 4.0])

    class Peer:
        def __init__(self, *, python, folder):
            self.python = python

        def prepare(self, recipes):
            return self

        def run(self, spec, rows, recipe, *, threads, seconds, seed, stock):
            calls.append(("peer", recipe, len(rows), threads, stock))
            if recipe == "genetic":
                raise BenchError("the peer broke")
            return measured(rows[:2], next(walls), texts=("x", "yy"))

    def run(spec, rows, recipe, folder, *, threads, seed, width):
        calls.append(("ours", recipe, len(rows), threads, width))
        if spec == "broken":
            raise BenchError("ours broke")
        return measured(rows, 1.0, unique=3)

    examples = tuple(Example(str(i), {"text": t}, 1) for i, t in enumerate(TEXTS))
    data = Dataset(name="toy", examples=examples, labels=("no", "yes"))
    monkeypatch.setattr(compare, "Peer", Peer)
    monkeypatch.setattr(compare.own, "run", run)
    monkeypatch.setattr(compare.own, "folder", lambda name, data: name)
    monkeypatch.setattr(compare.own, "victim", lambda spec: Victim())
    monkeypatch.setattr("malaprop.data.load", lambda spec: data)
    return calls


def test_ours_is_run_on_the_rows_that_the_peer_finished(table, tmp_path):
    said = []
    summary = compare.bench(
        tmp_path / "new" / "out", ["CNN-toy"], ["pwws"], 10, 3, tmp_path / "python", 60, width=7, say=said.append
    )
    assert table == [("peer", "pwws", 2, 3, False), ("ours", "pwws", 2, 3, 7)]  # two of five texts are right
    (cell,) = summary["cells"]
    assert (cell["faster"], cell["goal"], cell["rows"]) == (8, 7, 2)
    assert cell["floor"]["texts"] == 2
    assert json.loads((tmp_path / "new/out/bench.json").read_text()) == summary
    assert "| pwws | CNN-toy | 2 |" in (tmp_path / "new/out/bench.md").read_text()
    assert "<svg" in (tmp_path / "new/out/bench.svg").read_text()
    assert "8x" in said[-1]


def test_without_a_peer_ours_is_run_alone(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    summary = compare.bench(tmp_path, ["toy"], ["pwws"], 1)
    assert "pip install -r" in capsys.readouterr().err
    assert table == [("ours", "pwws", 1, 1, 256)]
    assert summary["cells"][0]["peer"] is None
    assert summary["cells"][0]["reason"] == ""


def test_the_peer_is_found_beside_the_work(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".venv-peers/bin").mkdir(parents=True)
    (tmp_path / ".venv-peers/bin/python").symlink_to("/nowhere/but/a/link", target_is_directory=False)
    assert compare.found_peer(lambda line: None) is None  # a link to nothing is no Python
    (tmp_path / ".venv-peers/bin/python").unlink()
    (tmp_path / ".venv-peers/bin/python").touch()
    assert compare.bench(tmp_path, ["toy"], ["pwws"], 1, quiet=True)["cells"][0]["peer"] is not None
    assert capsys.readouterr().err == ""


def test_a_side_that_breaks_leaves_its_reason_and_the_rest_goes_on(table, tmp_path):
    cells = compare.bench(tmp_path, ["toy", "broken"], ["genetic", "pwws"], 2, 1, tmp_path / "python")["cells"]
    assert [(c["victim"], c["recipe"], c["reason"]) for c in cells] == [
        ("toy", "genetic", "the peer broke"),
        ("toy", "pwws", ""),
        ("broken", "genetic", "ours broke"),
        ("broken", "pwws", "ours broke"),
    ]
    assert cells[0]["ours"] is not None
    assert "the peer broke" in (tmp_path / "bench.md").read_text()


def test_of_several_runs_the_middle_ratio_counts(table, tmp_path):
    (cell,) = compare.bench(tmp_path, ["toy"], ["pwws"], 2, 1, tmp_path / "python", repeats=3)["cells"]
    assert cell["ratios"] == [8, 2, 4]
    assert cell["faster"] == 4


def test_the_stock_wrapper_is_for_transformers_alone(table, tmp_path, monkeypatch):
    monkeypatch.setattr(compare.own, "has_stock", lambda spec: spec == "BERT")
    recipes = ["pwws (stock wrapper)"]
    cells = compare.bench(tmp_path, ["toy", "BERT"], recipes, 2, 1, tmp_path / "python")["cells"]
    assert [c["victim"] for c in cells] == ["BERT"]
    assert table[0] == ("peer", "pwws", 2, 1, True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"recipes": ["pwvs"]}, "did you mean pwws"),
        ({"n": 0}, "at least 1"),
        ({"threads": 0}, "at least 1"),
        ({"seconds": 0}, "seconds above 0"),
    ],
)
def test_wrong_settings_are_refused_before_any_work(table, tmp_path, more, said):
    with pytest.raises(SettingError, match=said):
        compare.bench(tmp_path / "out", **more)
    assert not (tmp_path / "out").exists()
    assert table == []
