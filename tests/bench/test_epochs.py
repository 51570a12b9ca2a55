"""What an epoch of hardening costs: a few real steps are timed, and the table says it as a multiple of plain ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from malaprop_bench import epochs
from malaprop_bench.epochs import TimedTraining

from malaprop.features.hardening.auto_budget import time_epoch
from malaprop.features.hardening.key_star import KeyStar
from malaprop.frame.study.training_methods import Hardening
from malaprop.frame.study.training_tasks import LearningData
from malaprop.zoo.train import TrainingInput
from malaprop.zoo.training import Hooks


def row(method: str, step: float, **more) -> TimedTraining:
    given = {"machine": "core", "model": "m", "data": "mr", "steps": 4, "batch": 8, "plain_s": 0.02}
    return TimedTraining(method=method, step_s=step, **(given | more))


def test_the_table_by_hand_and_the_last_of_each(tmp_path):
    epochs.write(
        tmp_path / "e.json",
        [
            row("plain", 0.02),
            row("a2t", 0.09),
            row("a2t", 0.05),
            row("dne", 0.02, model="n"),
            row("plain", 0.02, model="n"),
        ],
    )
    assert [one.step_s for one in epochs.read(tmp_path / "e.json")] == [0.02, 0.05, 0.02, 0.02]
    held = json.loads((tmp_path / "e.json").read_text())
    assert epochs.table_lines(held) == [
        "| method | m, core (plain: 20 ms for 8 texts) | n, core (plain: 20 ms for 8 texts) |",
        "| --- | --- | --- |",
        "| `a2t` | 2.5 | not measured |",
        "| `dne` | not measured | 1.0 |",
    ]


def test_a_few_steps_are_timed_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"the film {i} was {('awful', 'great')[i % 2]},{i % 2}" for i in range(120)]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    parts = LearningData(data="rows.csv").splits()
    small = TrainingInput(settings={"dim": 6, "hidden": 4, "batch": 32})
    for hardening in (None, Hardening.of("flooding"), Hardening.of("blackbox")):
        found = time_epoch("LSTM-W-Random-1", parts, hardening, given=small, steps=3)
        assert found.steps == -(-len(parts.train) // 32)
        assert 0 < found.step < 30
        assert found.seconds == found.step * found.steps
        assert found.processor > 0
    seen = list[list[int]]()
    watch = Hooks(batch=lambda batch: seen.append(batch.rows.tolist()) or batch)
    monkeypatch.setattr(KeyStar, "hooks", lambda *_: watch)
    found = time_epoch("LSTM-W-Random-1", parts, Hardening.of("blackbox"), given=small, steps=2, again=True)
    assert found.steps == -(-len(parts.train) // 32)
    assert sorted(seen[0] + seen[1]) == sorted(seen[2] + seen[3]) == list(range(64))
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize(("method", "searches"), [("augment:recipe=deepwordbug", [10, 10]),
                                                  ("reject:recipes=deepwordbug:every=6", [7, 7])])  # fmt: skip
def test_timed_steps_hold_a_whole_round_of_attacks(method, searches, tmp_path, monkeypatch, tiny_assets):
    """Or an epoch seems to cost next to nothing: the first search is in the steps before the clock starts."""
    from malaprop.frame.runs import local

    seen, run = list[int](), local.run
    monkeypatch.setattr(local, "run", lambda *given, **more: seen.append(len(given[2])) or run(*given, **more))
    rows = [f"the film {i} was {('awful', 'great')[i % 2]},{i % 2}" for i in range(120)]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    parts, small = LearningData(data=str(tmp_path / "rows.csv")).splits(), {"dim": 6, "hidden": 4, "batch": 8}
    share = ":share=0.25" if method.startswith("augment") else ""
    found = time_epoch(
        "LSTM-W-Random-1", parts, Hardening.of(method + share), given=TrainingInput(settings=small), steps=5
    )
    assert seen == searches
    assert found.step > 0
    seen.clear()
    few = parts._replace(train=parts.train[:24])  # three batches: a second pass over them holds a round, too
    time_epoch(
        "LSTM-W-Random-1", few, Hardening.of(method + share), given=TrainingInput(settings=small), steps=6, again=True
    )
    assert len(seen) == 2


def test_the_page_says_what_the_three_cost_on_a_gpu():
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "appendix/defences.md").read_text(encoding="utf-8")
    rows = {row.method: row for row in epochs.read(docs / "measured/epochs.json") if "nothing beside it" in row.machine}
    three = [rows[name] for name in ("a2t", "ascc", "flooding")]
    assert all(row.ratio <= epochs.BAR for row in three)
    assert "they take {:.1f}, {:.1f} and {:.1f} in the last column".format(*(row.ratio for row in three)) in page
    kernels = json.loads((docs / "measured/attention-kernels.json").read_text(encoding="utf-8"))
    assert kernels["own"] == {name: round(1000 * rows[name].step_s, 2) for name in ("plain", "a2t")}
    assert f"with which `a2t` took {kernels['cudnn']['a2t'] / kernels['cudnn']['plain']:.1f}" in page.replace("\n", " ")
