"""Caches keep within their bytes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import toy

from malaprop.engine import service
from malaprop.engine.cache import Memory, Recent
from malaprop.engine.service import Scoring
from malaprop.frame.records.outcome import compare_key


def test_recent_keeps_within_its_bytes_and_forgets_the_oldest():
    recent = Recent(1000, most=100_000)
    for i in range(100):
        recent.put(i, np.zeros(1000, np.float32))
        assert recent.nbytes <= 100_000
    kept = [i for i in range(100) if recent.get(i) is not None]
    assert kept == list(range(100 - len(kept), 100))
    assert 20 < len(kept) < 25
    recent.put(99, "small")
    recent.put("huge", np.zeros(100_000))
    assert (recent.get("huge"), recent.get(99), recent.nbytes) == (None, None, 0)


def test_recent_counts_a_key_once():
    recent = Recent(10)
    for _ in range(5):
        recent.put("key", ["a", "b"])
    once = recent.nbytes
    recent.put("key", ["a", "b"])
    assert recent.nbytes == once > 0


@pytest.mark.parametrize("labels", [2, 50])
def test_a_memory_knows_what_it_takes(labels):
    keys = np.random.default_rng(0).integers(2**62, 2**63, 60_000).tolist()
    tracemalloc.start()
    memory = Memory()
    for at in range(0, len(keys), 1000):
        memory.extend([*map(int, map(str, keys[at : at + 1000]))], np.zeros((1000, labels), np.float32))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.6 * taken < memory.nbytes < 1.6 * taken


def test_a_full_memory_is_halved_and_changes_no_outcome(monkeypatch, toy_examples):
    whole = [compare_key(o) for o in toy.attack_all(toy.listed(), toy_examples)]
    monkeypatch.setattr(service, "LARGEST", 1500)
    target = toy.victim()
    services = toy.toy_services(target)
    assert [compare_key(o) for o in toy.attack_all(toy.listed(), toy_examples, target, services=services)] == whole
    scoring = services["victim"]
    assert isinstance(scoring, Scoring)
    assert len(scoring.memory) < scoring.clock.forwarded
