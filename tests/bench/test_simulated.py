"""A run on many workers in virtual time: lost workers, and the memory of the driver."""

from __future__ import annotations

import tracemalloc

import pytest
from malaprop_bench import simulated
from malaprop_bench.simulated import simulate, write_texts

from malaprop.data.stream import open_stream
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.tasks import task


@pytest.fixture
def texts(tmp_path):
    """Return a function that writes so many texts to a file and opens it."""

    def make(many: int):
        write_texts(tmp_path / f"{many}.csv", many)
        return open_stream(tmp_path / f"{many}.csv")

    return make


def test_workers_that_are_killed_in_virtual_time_lose_nothing(texts, tmp_path, monkeypatch):
    monkeypatch.setattr(simulated, "DETECTED", 0.1)
    monkeypatch.setattr(simulated, "RESTART", 0.3)
    items = texts(1000)
    calm = simulate(items, tmp_path / "calm", workers=1, seconds=0.02)
    storm = simulate(items, tmp_path / "storm", workers=8, seconds=0.02, kill_every=0.6)
    assert storm["kills"] >= 3
    assert storm["outcomes"] == calm["outcomes"], "equal lines, each once"
    assert sorted(one.id for one in read_outcomes(tmp_path / "storm" / "run")) == sorted(one.id for one in items)
    assert 0 < calm["efficiency"] <= 1
    assert 1000 * 0.02 / 8 < storm["seconds"] < calm["seconds"]
    assert 0 < storm["driver_us"] < 2000


def test_a_message_that_costs_the_driver_more_makes_the_run_longer(texts, tmp_path):
    cheap, dear = (simulate(texts(300), tmp_path / str(cost), workers=4, message=cost) for cost in (0, 0.1))
    assert dear["seconds"] > cheap["seconds"] + 0.3
    assert dear["driver_us"] > cheap["driver_us"] + 1e5 * dear["messages"] / 300 / 2


def test_the_driver_s_memory_does_not_grow_with_the_texts(texts, tmp_path, monkeypatch):
    monkeypatch.setattr(task, "LARGEST", 64)
    peaks = []
    for many in (1000, 4000):
        items = texts(many)
        tracemalloc.start()
        simulate(items, tmp_path / f"run{many}", workers=2)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 100 * 3000, "only hashes of ids, in two tables that double"
