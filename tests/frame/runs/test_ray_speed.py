"""Two workers on two cores against one, on a victim that is nothing but processor time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import toy

from malaprop.data.base import of
from malaprop.features.audit.attack import AttackRun
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.study import conduct
from malaprop.frame.tasks.events import TaskEnded
from malaprop.frame.tasks.workers.ray_session import join

HERE = Path(__file__).parent


def timed(workers: int, rows, out: Path) -> tuple[float, set[str]]:
    """Seconds from the first share to the last outcome, when a worker has looked at the victim."""
    heard: list[TaskEnded] = []
    study = AttackRun(
        recipe=toy.listed(),
        victim="ray_victims:busy",
        texts=Selection(data=of(rows), n=0, seed=3),
        where=RunOptions(engine="ray", jobs=workers, device="cpu"),
        saving=OutputOptions(out=out, quiet=True),
    )
    found = conduct(study, listen=[lambda one: heard.append(one) if isinstance(one, TaskEnded) else None]).outcomes
    return heard[-1].seconds, {compare_key(o) for o in found}


@pytest.mark.slow
def test_two_workers_are_at_least_1_7_times_as_fast_as_one(monkeypatch, tmp_path):
    pytest.importorskip("ray")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parents[1]), str(HERE.parents[2])]))
    rows = toy.some_examples(1500, words=10)
    before = os.getloadavg()[0]
    with join(workers=2):
        (one, first), (two, second) = (timed(workers, rows, tmp_path / str(workers)) for workers in (1, 2))
    print(f"1 worker {one:.1f} s, 2 workers {two:.1f} s: {one / two:.2f} times as fast (load before: {before:.1f})")
    assert first == second
    if before > 0.7:
        pytest.skip(f"the machine is busy (load {before:.1f}): {one / two:.2f} times says little")
    assert one / two >= 1.7
