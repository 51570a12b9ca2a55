"""Memory that ends in the middle, a worker lost while it sends, a driver killed inside a line, a disk that fills up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import small_victims
import torch
import toy
from toy_tasks import MANY, Place, Processes, examples, execute

from malaprop.core.example import Example
from malaprop.frame.records.outcome import Outcome, Side, compare_key
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.runs.local import run
from malaprop.frame.tasks.events import PieceWritten, WorkerLost
from malaprop.frame.tasks.executor import Execution
from malaprop.frame.tasks.outputs import RunFolder
from malaprop.frame.tasks.task import Task, plan_of

HERE = Path(__file__).parent
TEXTS = (
    "the good film , well made",
    "a bad one and so dull",
    "great movie",
    "an awful poor film",
    "not so nice",
    "okay",
)
ROWS = [Example(f"{text}: {label}", {"text": text}, label) for text in TEXTS for label in (0, 1)]


def equal_keys(victim, more=(), **settings) -> dict[str, str]:
    attack = toy.listed({"good": ("fine", "nice"), "dull": ("okay",), "movie": ("film",), "film": ("movie", "one")})
    return {one.id: compare_key(one, scores=False) for one in run(attack, victim, ROWS, **settings)}


GREAT = {"small": small_victims.VOCAB.index["great"], "small-bert": small_victims.PIECES.index("##eat")}


@pytest.mark.parametrize("make", [small_victims.words, small_victims.bert])
@pytest.mark.parametrize("kind", ["halved", "for a while", "one text"])
def test_a_device_that_runs_out_of_memory_in_the_middle(make, kind):
    calm, plain, calls = equal_keys(make()), make(), iter(range(1 << 30))
    told = []

    def forward(ids, lengths):
        call = next(calls)
        wide = kind == "halved" and call > 1 and len(ids) > 2
        short = kind == "for a while" and 2 <= call < 12
        never = kind == "one text" and bool((ids == GREAT[plain.name]).any())
        if wide or short or never:
            told.append(call)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return plain.forward(ids, lengths)

    found = equal_keys(replace(make(), forward=forward, scorer=None))
    assert told, "memory was short"
    assert found.keys() == calm.keys()
    errors = {id for id, key in found.items() if '"status":"error"' in key}
    assert {id: key for id, key in found.items() if id not in errors} == {
        id: key for id, key in calm.items() if id not in errors
    }
    assert bool(errors) == (kind == "one text")
    assert all("out of memory" in found[id] for id in errors)


# --- a lost worker, a killed driver, a full disk

PARTS = [HERE, HERE.parent / "runs", HERE.parents[1], HERE.parents[2]]


def start(folder: Path, code: str, *more: str) -> subprocess.Popen[str]:
    """Run Python code in a process of its own."""
    given = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PARTS)), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", code, *more]
    return subprocess.Popen(words, cwd=folder, env=given, stderr=subprocess.PIPE, text=True)


TORN = """
import os, signal, sys
from pathlib import Path
import toy_tasks

real, left = os.write, iter(range(25))

def write(fd, data):
    if bytes(data[:5]) == b'{"id"' and next(left, None) is None:
        real(fd, data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    return real(fd, data)

os.write = write
workers = toy_tasks.Processes(2, toy_tasks.Place(root=Path("run")), preload=()) if sys.argv[1] == "2" else None
toy_tasks.execute(Path("run"), workers)
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_driver_killed_inside_a_line_loses_that_line_alone(tmp_path, jobs):
    (tmp_path / "run").mkdir()
    killed = start(tmp_path, TORN, jobs)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    path = tmp_path / "run" / "lines" / "outcomes.jsonl"
    assert not path.read_bytes().endswith(b"\n")
    whole = path.read_bytes().count(b"\n")
    assert 0 < len(read_outcomes(path.parent)) == whole < MANY
    assert execute(tmp_path / "run") == {}
    found = read_outcomes(path.parent)
    assert len(found) == len({one.id for one in found}) == MANY
    assert path.read_bytes().count(b"\n") == MANY


def send_much(context, inputs, share):
    """Lines that fill the pipe to the driver, which reads late; the first worker is killed while it sends them."""
    yield Run(recipe="toy", victim="v", data="d", n=len(share.whole), seed=7, labels=("a", "b"))
    mark = context.place.root / "kill"
    if mark.exists():
        mark.unlink()
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
    for item in share.items:
        text = {"text": item.fields["text"] * 3_000}
        yield Outcome(id=item.id, status="skipped", label=0, original=Side(text), seed=7)


def test_a_worker_killed_while_it_sends_loses_nothing(tmp_path):
    (tmp_path / "kill").touch()
    lost: list[WorkerLost] = []

    def listen(event):
        if isinstance(event, WorkerLost):
            lost.append(event)
        elif isinstance(event, PieceWritten) and isinstance(event.piece, Run):
            time.sleep(0.6)  # the worker fills the pipe meanwhile, and waits inside a message

    task = Task(name="lines", work=send_much, output=RunFolder(), items=examples)
    workers = Processes(1, Place(root=tmp_path), preload=())
    assert Execution(plan_of([task]), tmp_path, workers, [listen]).run() == {}
    assert [one.why for one in lost] == ["killed by signal 9"]
    found = [one.id for one in read_outcomes(tmp_path / "lines")]
    assert len(found) == len(set(found)) == MANY


@pytest.fixture
def small_disk(tmp_path):
    """Return a function that makes a disk of so many kilobytes, or another size of the same one."""
    disk, made = tmp_path / "disk", []

    def size(kilobytes: int) -> Path:
        disk.mkdir(exist_ok=True)
        how = f"{'remount,' if made else ''}size={kilobytes}k"
        if subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", disk], capture_output=True).returncode:
            pytest.skip("only root may make a small disk; tests/cli/test_commands.py fills one in play")
        made.append(disk)
        return disk

    yield size
    if made:
        subprocess.run(["umount", disk], check=True)


ATTACK = """
import sys
from malaprop.cli.main import main

sys.argv = ["malaprop", "attack", "keyboard", "--victim", "ray_victims:predict", "--data", "texts.csv", "--n", "all",
            "--judge", "none", "--language", "en", "--device", "cpu", "--quiet", *sys.argv[1:]]
main()
"""


@pytest.mark.skipif(shutil.which("mount") is None, reason="no mount here")
@pytest.mark.parametrize("kilobytes", [4, 60])
def test_a_disk_that_fills_up_costs_nothing_that_was_finished(small_disk, tmp_path, kilobytes):
    rows = toy.some_examples(120, words=10)
    lines = "".join(f'"{row.fields["text"]}",{row.label}\n' for row in rows)
    (tmp_path / "texts.csv").write_text(f"text,label\n{lines}")
    disk = small_disk(kilobytes)
    full, calm = (start(tmp_path, ATTACK, "--out", str(out)) for out in (disk / "run", tmp_path / "calm"))
    (_, said), (_, other) = full.communicate(timeout=120), calm.communicate(timeout=120)
    assert calm.returncode == 0, other
    assert full.returncode == 2, said
    assert len(said.splitlines()) == 1
    assert "disk" in said or "No space left on device" in said
    path = disk / "run" / "outcomes.jsonl"
    kept = path.read_bytes() if path.exists() else b""
    assert kept == b"" or kept.endswith(b"\n")
    assert bool(kept) == (kilobytes > 8)
    small_disk(10_000)
    again = start(tmp_path, ATTACK, "--out", str(disk / "run"))
    _, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert path.read_bytes().startswith(kept)
    one, other = ({o.id: compare_key(o) for o in read_outcomes(out)} for out in (disk / "run", tmp_path / "calm"))
    assert len(one) == 120
    assert one == other
