import json
from pathlib import Path

import numpy as np
import pytest
from malaprop_bench import compare, own
from malaprop_bench.bout import Terms
from malaprop_bench.child import BenchError
from malaprop_bench.compare import PLAN, plan
from malaprop_bench.measured import Ended, Measured

from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.data import Dataset

TEXTS = ["a good film", "a bad film", "good", "bad", "no opinion", "so good"]


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
def calls(monkeypatch, tmp_path):
    """All sides replaced by values; keeps the calls. TextAttack finishes two rows, OpenAttack one."""
    monkeypatch.chdir(tmp_path)  # where no peer is
    made = []
    walls = iter([8.0, 2.0, 4.0] * 3)

    class Peer:
        def __init__(self, *, tool, python, folder):
            self.tool = tool

        def run(self, spec, rows, recipe, *, threads, seconds, seed, stock):
            made.append((self.tool.name, recipe, len(rows), threads, stock))
            if recipe == "genetic":
                raise BenchError(f"{self.tool.name} broke")
            if self.tool.name == "OpenAttack":
                return measured(rows[:1], 3.0)
            return measured(rows[:2], next(walls), texts=("x", "yy"))

    def run(spec, rows, recipe, folder, *, threads, seed, width, precision):
        made.append(("ours", recipe, len(rows), threads, precision))
        if spec == "broken":
            raise BenchError("ours broke")
        return measured(rows, 1.0, unique=3, texts=("a", "bb", "ccc"))

    examples = tuple(Example(str(i), {"text": t}, 1) for i, t in enumerate(TEXTS))
    data = Dataset(name="toy", examples=examples, labels=("no", "yes"))
    monkeypatch.setattr(compare, "Peer", Peer)
    monkeypatch.setattr(compare.peer, "prepare", lambda folder, recipes: folder)
    monkeypatch.setattr(own, "run", run)
    monkeypatch.setattr(own, "folder", lambda name, data: name)
    monkeypatch.setattr(own, "victim", lambda spec, precision="fp32": Victim())
    monkeypatch.setattr(own, "has_stock", lambda spec: spec == "BERT")
    monkeypatch.setattr("malaprop.data.load", lambda spec: data)
    return made


@pytest.fixture
def python(tmp_path):
    path = tmp_path / "python"
    path.touch()
    return path


def bench(out, python, pairs, tools=("TextAttack",), *, say=lambda line: None, resume=False, **terms):
    given = dict.fromkeys(tools, python)
    return compare.bench(out, pairs, Terms(**terms), given=given, resume=resume, say=say)


def test_ours_is_run_on_the_rows_that_each_peer_finished(calls, tmp_path, python):
    said = []
    out = tmp_path / "new" / "out"
    both = ("TextAttack", "OpenAttack")
    summary = bench(out, python, [("pwws", "CNN-toy")], both, n=10, threads=3, say=said.append)
    assert calls == [  # three of six texts are right
        ("TextAttack", "pwws", 3, 3, False),
        ("OpenAttack", "pwws", 2, 3, False),
        ("ours", "pwws", 2, 3, "fp32"),
        ("ours", "pwws (as OpenAttack)", 1, 3, "fp32"),
    ]
    (cell,) = summary["cells"]
    assert (cell["faster"], cell["goal"], cell["rows"]) == (8, 40, 2)
    assert (cell["peers"]["OpenAttack"]["faster"], cell["peers"]["OpenAttack"]["rows"]) == (3, 1)
    assert (cell["floor"]["texts"], cell["floor"]["of"]) == (2, "TextAttack")
    assert json.loads((out / "bench.json").read_text()) == summary
    assert "| pwws | CNN-toy | fp32 | 2 |" in (out / "bench.md").read_text()
    assert "<svg" in (out / "bench.svg").read_text()
    assert "TextAttack 8 s (8x), OpenAttack 3 s (3x)" in said[-1]


def test_without_a_peer_ours_is_run_alone_beside_its_own_floor(calls, tmp_path, capsys):
    (cell,) = compare.bench(tmp_path, [("pwws", "toy")], Terms(n=1))["cells"]
    said = capsys.readouterr().err
    assert "no TextAttack" in said
    assert "no OpenAttack" in said
    assert "make bench-peers" in said
    assert calls == [("ours", "pwws", 1, 1, "fp32")]
    assert (cell["peers"], cell["reasons"]) == ({}, [])
    assert (cell["floor"]["texts"], cell["floor"]["of"]) == (3, "ours")


def test_a_peer_is_found_beside_the_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    python = tmp_path / ".venv-peers/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/nowhere/but/a/link")
    assert compare.found_peers({}, compare.silent) == {}  # a link to nothing is no Python
    python.unlink()
    python.touch()
    assert compare.found_peers({}, compare.silent) == {"TextAttack": python}
    with pytest.raises(SettingError, match="OpenAttack's Python is not there: gone; run make bench-peers"):
        compare.found_peers({"OpenAttack": Path("gone")}, compare.silent)


def test_a_side_that_breaks_leaves_its_reason_and_the_rest_goes_on(calls, tmp_path, python):
    pairs = plan(victims=["toy", "broken"], recipes=["genetic", "pwws"])
    cells = bench(tmp_path, python, pairs, n=2)["cells"]
    assert [(c["victim"], c["recipe"], c["reasons"]) for c in cells] == [
        ("toy", "genetic", ["TextAttack broke"]),
        ("toy", "pwws", []),
        ("broken", "genetic", ["TextAttack broke", "ours broke"]),
        ("broken", "pwws", ["ours broke"]),
    ]
    assert cells[0]["ours"] is not None
    assert "TextAttack broke" in (tmp_path / "bench.md").read_text()


def test_of_several_runs_the_middle_ratio_counts(calls, tmp_path, python):
    (cell,) = bench(tmp_path, python, [("pwws", "toy")], n=2, repeats=3)["cells"]
    assert cell["peers"]["TextAttack"]["ratios"] == [8, 2, 4]
    assert cell["faster"] == 4
    assert [c[0] for c in calls] == ["TextAttack", "ours"] * 3  # back to back


def test_the_stock_wrapper_is_for_transformers_and_one_peer_alone(calls, tmp_path, python):
    pairs = plan(victims=["toy", "BERT"], recipes=["pwws (stock wrapper)"])
    cells = bench(tmp_path, python, pairs, ("TextAttack", "OpenAttack"), n=2)["cells"]
    assert [(c["victim"], list(c["peers"])) for c in cells] == [("BERT", ["TextAttack"])]
    assert calls[0] == ("TextAttack", "pwws", 2, 1, True)


def test_the_peer_is_run_once_for_all_precisions(calls, tmp_path, python):
    cells = bench(tmp_path, python, plan(victims=["toy", "BERT"], recipes=["pwws"]), precisions=("fp32", "bf16"))[
        "cells"
    ]
    assert [(c["victim"], c["precision"]) for c in cells] == [("toy", "fp32"), ("BERT", "fp32"), ("BERT", "bf16")]
    assert [c[0] for c in calls] == ["TextAttack", "ours", "TextAttack", "ours", "ours"]


def test_finished_cells_are_kept_on_the_same_terms(calls, tmp_path, python):
    bench(tmp_path, python, [("pwws", "toy"), ("genetic", "toy")], n=2)
    calls.clear()
    summary = bench(tmp_path, python, [("pwws", "toy"), ("genetic", "toy")], n=2, resume=True)
    assert {c[1] for c in calls} == {"genetic"}  # it had a reason, so it is tried again
    assert [c["recipe"] for c in summary["cells"]] == ["pwws", "genetic"]
    with pytest.raises(SettingError, match=r"other settings \(texts\)"):
        bench(tmp_path, python, [("pwws", "toy")], n=3, resume=True)
    (tmp_path / "bench.json").write_text("{")
    with pytest.raises(SettingError, match="cannot be read"):
        bench(tmp_path, python, [("pwws", "toy")], n=2, resume=True)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"n": 0}, "at least 1"),
        ({"threads": 0}, "at least 1"),
        ({"seconds": 0}, "seconds above 0"),
        ({"precisions": ("fp23",)}, "did you mean fp32"),
    ],
)
def test_wrong_terms_are_refused(terms, said):
    with pytest.raises(SettingError, match=said):
        Terms(**terms)


def test_a_wrong_recipe_is_refused_before_any_work(calls, tmp_path):
    with pytest.raises(SettingError, match="did you mean pwws"):
        compare.bench(tmp_path / "out", [("pwvs", "toy")])
    assert not (tmp_path / "out").exists()
    assert calls == []


def test_cells_are_chosen_one_by_one_or_by_the_cross():
    assert plan() == PLAN
    assert ("pwws (stock wrapper)", "BERT") in PLAN
    assert ("genetic", "BERT") not in PLAN
    assert plan(only=["pwws, CNN-W-GloVe-1"]) == (("pwws", "CNN-W-GloVe-1"),)
    assert plan(victims=["a"], recipes=["pwws", "genetic"]) == (("pwws", "a"), ("genetic", "a"))
    for odd in ("pwws", "pwws,", "a,b,c"):
        with pytest.raises(SettingError, match="--only expects recipe,victim"):
            plan(only=[odd])
