"""Fifty kills at any moment, each followed by a resume: nothing is lost and nothing comes twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy

from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.store import read_outcomes

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
COUNT, KILLS = 1200, 50


def start(folder: Path, out: str, *more: str) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join([str(HERE), str(HERE.parents[1]), str(HERE.parents[2])])
    words = ["attack", "deepwordbug", "--victim", f"ray_victims:{'slow' if more else 'predict'}", "--data", "texts.csv"]
    settings = ["--n", "all", "--seed", "4", "--device", "cpu", "--quiet", "--out", out]
    return subprocess.Popen(
        [sys.executable, "-m", "malaprop", *words, *settings, *more],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
    )


def ids_on_disk(path: Path) -> list[str]:
    """Of the whole lines: a torn one was not finished."""
    if not path.exists():
        return []
    return [json.loads(line)["id"] for line in path.read_bytes().split(b"\n")[:-1]]


def wait(process: subprocess.Popen[bytes], path: Path, rng: random.Random) -> None:
    """Until some moment: while it starts, or after a few more outcomes, or in the middle of writing one."""
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0.0, 1.5))
        return
    size = path.stat().st_size if path.exists() else 0
    more = rng.randrange(1, 30_000)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if path.exists() and path.stat().st_size > size + more:
            return
        time.sleep(0.002)


def test_fifty_kills(tmp_path):
    rows = toy.some_examples(COUNT, words=10)
    lines = "".join(f'"{row.fields["text"]}",{row.label}\n' for row in rows)
    (tmp_path / "texts.csv").write_text(f"text,label\n{lines}")
    calm = start(tmp_path, "calm")
    _, said = calm.communicate(timeout=300)
    assert calm.returncode == 0, said
    rng, path, kept = random.Random(8), tmp_path / "storm" / "outcomes.jsonl", 0
    moments = []
    for kill in range(KILLS):
        process = start(tmp_path, "storm", "--resume", "--width", str(rng.choice([1, 2, 8])))
        wait(process, path, rng)
        assert process.poll() is None, f"over before kill {kill}: {process.communicate()}"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        now = ids_on_disk(path)
        assert len(now) == len(set(now)), "an outcome came twice"
        assert len(now) >= kept, "a finished outcome was lost"
        moments.append(len(now) - kept)
        kept = len(now)
    print(f"{KILLS} kills, {kept} of {COUNT} finished by then; new outcomes before each kill: {moments}")
    assert 0 < kept < COUNT
    last = start(tmp_path, "storm", "--resume", "--width", "64")
    _, said = last.communicate(timeout=600)
    assert last.returncode == 0, said
    names = ids_on_disk(path)
    assert len(names) == len(set(names)) == COUNT
    storm, whole = ({o.id: compare_key(o) for o in read_outcomes(tmp_path / name)} for name in ("storm", "calm"))
    assert {id: key for id, key in storm.items() if whole[id] != key} == {}
