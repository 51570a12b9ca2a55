import json

import numpy as np
import pytest
from malaprop_bench import throughput
from malaprop_bench.recording import Recording
from malaprop_bench.throughput import HEAD, Setting, measure, row

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.search.greedy import Greedy
from malaprop.core.errors import DataError
from malaprop.models.victims.strings import StringVictim


def predict(texts):
    bad = np.asarray([0.9 if "fine" in text.split() else 0.2 for text in texts], np.float32)
    return np.stack([bad, 1 - bad], 1)


@pytest.fixture
def setting(tmp_path, monkeypatch):
    """Twelve texts of which the victim gets nine right."""
    toy = Attack(name="toy", candidates=Listed(table={"good": ("fine", "nice")}), search=Greedy())
    monkeypatch.setattr(throughput, "recipe", lambda name: toy)
    rows = [f"x{i} good y{i}" for i in range(9)] + [f"x{i} fine y{i}" for i in range(3)]
    examples = [{"text": text, "label": 1} for text in rows] + [{"text": "a fine end", "label": 0}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(e) + "\n" for e in examples))
    monkeypatch.setattr(throughput, "_test", lambda data: [e for e in _load(tmp_path / "rows.jsonl") if e.label])
    monkeypatch.setattr("malaprop.frame.runs.victims.victim", lambda *_, **__: StringVictim(call=predict, name="toy"))
    return Setting(victim="toy", n=6, width=4, device="cpu", repeats=2, floor_seconds=0.01)


def _load(path):
    from malaprop.data import load

    return load(path).examples


def test_rates_follow_from_counts_and_seconds(setting):
    held = measure(setting)
    plain = json.loads(json.dumps(held.to_dict()))
    assert (held.texts, held.success.hits, len(held.walls)) == (6, 6, 2)
    assert plain["asked_per_s"] == pytest.approx(held.asked / held.wall, rel=1e-3)
    assert plain["forwarded_per_s"] == pytest.approx(held.forwarded / held.wall, rel=1e-3)
    assert held.share == pytest.approx(held.forwarded / held.wall * held.floor.seconds / held.floor.texts)
    assert 0 < held.host + held.model < held.wall
    assert plain["precision"] == "fp32"
    assert held.floor.texts == held.forwarded - 6  # the model read each winner once more to verify it
    assert dict(zip(HEAD, row(plain), strict=True))["texts"] == "6"


def test_a_victim_that_gets_nothing_right_is_said(setting, monkeypatch):
    monkeypatch.setattr(throughput, "_test", lambda data: [])
    with pytest.raises(DataError, match="gets no text of mr right"):
        measure(setting)


def test_a_recording_is_the_victim_but_for_the_record():
    inner = StringVictim(call=predict, name="toy")
    seen = Recording(inner)
    assert seen.name == "toy"
    assert seen.offers == inner.offers
    assert seen.texts() == ()


def test_recipes_of_the_comparison_ask_no_tagger():
    assert throughput.recipe("pwws").candidates.part == "any"
    assert throughput.recipe("deepwordbug").name == "deepwordbug:textattack"
    assert throughput.recipe("typos").name == "typos"
