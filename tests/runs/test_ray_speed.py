"""Two workers on two cores against one, on a victim that is nothing but processor time."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

import pytest
import toy

from malaprop.records.outcome import compare_key
from malaprop.runs.cluster.crew import Crew
from malaprop.runs.cluster.session import join
from malaprop.runs.cluster.shards import Shards

HERE = Path(__file__).parent


def timed(cluster, workers: int, rows) -> tuple[float, set[str]]:
    """Seconds from the first shard to the last outcome, when all workers have loaded the victim."""
    with Crew(cluster, "ray_victims:busy", workers=workers) as crew:
        while not all(slot.known for slot in crew._slots):
            list(crew._listen(Shards((), 0, 1), 0))
        began = perf_counter()
        found = list(crew.run(toy.listed(), rows, seed=3, many=len(rows)))
        return perf_counter() - began, {compare_key(o) for o in found}


@pytest.mark.slow
def test_two_workers_are_at_least_1_7_times_as_fast_as_one(monkeypatch, tmp_path):
    pytest.importorskip("ray")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parent), str(HERE.parents[1])]))
    rows = toy.some_examples(1500, words=10)
    before = os.getloadavg()[0]
    with join(workers=2) as cluster:
        (one, first), (two, second) = (timed(cluster, workers, rows) for workers in (1, 2))
    print(f"1 worker {one:.1f} s, 2 workers {two:.1f} s: {one / two:.2f} times as fast (load before: {before:.1f})")
    assert first == second
    if before > 0.7:
        pytest.skip(f"the machine is busy (load {before:.1f}): {one / two:.2f} times says little")
    assert one / two >= 1.7
