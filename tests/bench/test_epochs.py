"""What an epoch of hardening costs: a few real steps are timed, and the table says it as a multiple of plain ones."""

from __future__ import annotations

import json

from malaprop_bench import epochs
from malaprop_bench.epochs import TimedTraining

from malaprop.defences.blackbox import KeyStar
from malaprop.defences.harden import Hardening
from malaprop.models.zoo.train import Given
from malaprop.models.zoo.training import Hooks
from malaprop.studies.epochtime import time_epoch
from malaprop.studies.training import LearningData


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
    small = Given(settings={"dim": 6, "hidden": 4, "batch": 32})
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
