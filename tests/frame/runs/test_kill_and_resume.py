"""A run that is killed at any moment loses nothing and goes on to the same outcomes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy

from malaprop.core.errors import RecordError
from malaprop.data.base import of
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.runs.folder import run_to_folder

HERE = Path(__file__).parents[2]
CODE = """
import sys, time
import toy
from pathlib import Path
from malaprop.data.base import of
from malaprop.frame.runs.folder import run_to_folder

def slow(texts):
    print("asked", flush=True)
    time.sleep(0.003)
    return toy.predict(texts)

print("ready", flush=True)
run_to_folder(toy.listed(), toy.victim(slow, fingerprint="toy"), of(toy.some_examples(200)), Path(sys.argv[1]),
              seed=3, width=int(sys.argv[2]), resume=True)
"""


def start(folder: Path, width: int) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(HERE), str(HERE.parent)])
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(folder), str(width)],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    return process


def test_killed_twelve_times_and_resumed_gives_the_same_outcomes(tmp_path):
    data = of(toy.some_examples(200))
    whole = run_to_folder(toy.listed(), toy.victim(fingerprint="toy"), data, tmp_path / "whole", seed=3)
    folder, rng, killed, kept = tmp_path / "killed", random.Random(5), 0, 0
    while killed < 12:
        process = start(folder, width=rng.choice([1, 3, 8]))
        for _ in range(rng.randrange(20)):  # by what it has done, not by the clock: the machine may be busy
            process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.003))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it was over before it could be killed: make it slower"
        killed += 1
        if (folder / "outcomes.jsonl").exists():
            now = len(read_outcomes(folder))
            assert now >= kept, "a finished example was lost"
            kept = now
    assert 0 < kept < 200
    last = start(folder, width=64)
    _, said = last.communicate(timeout=60)
    assert last.returncode == 0, said
    assert {compare_key(o) for o in read_outcomes(folder)} == {compare_key(o) for o in whole}
    assert len(read_outcomes(folder)) == 200


def test_a_resumed_run_asks_nothing_it_knows_and_refuses_other_settings(tmp_path, toy_examples):
    data, calls = of(toy_examples), toy.Calls()
    first = run_to_folder(toy.listed(), toy.victim(fingerprint="toy"), data, tmp_path, seed=1)
    seen = []
    again = run_to_folder(
        toy.listed(), toy.victim(calls, fingerprint="toy"), data, tmp_path, seed=1, resume=True, seen=seen.append
    )
    assert calls.texts == []
    assert again == first == seen
    with pytest.raises(RecordError):
        run_to_folder(toy.listed(), toy.victim(fingerprint="toy"), data, tmp_path, seed=2, resume=True)
