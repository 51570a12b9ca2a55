"""What killed processes left half written goes at the next start; what living ones write stays."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from malaprop.core.files import partial_path, remove_partial_files, write_whole
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import Writer
from malaprop.training.folder import check_target


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    return ended.pid


def test_only_those_of_dead_processes_of_this_machine_go(tmp_path, dead):
    here = platform.node()
    gone = [f".a.json.{dead}@{here}", f".run.toml.{dead}"]
    stay = [
        f".a.json.{os.getpid()}@{here}",
        f".a.json.{os.getppid()}@{here}",
        f".a.json.{dead}@{here}x",  # another machine on the same disk
        f".notes.{dead}",  # the user's own: nothing of ours is called so
        f"a.json.{dead}@{here}",
        ".a.json.half",
        "a.json",
    ]
    for name in (*gone, *stay):
        (tmp_path / name).write_text("text")
    remove_partial_files(tmp_path, "run.toml")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(stay)
    remove_partial_files(tmp_path / "nowhere")


def test_a_file_written_whole_clears_its_own(tmp_path, dead):
    for name in (f".report.html.{dead}", f".report.html.{dead}@{platform.node()}"):
        (tmp_path / name).write_text("half")
    write_whole(tmp_path / "report.html", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_run_that_goes_on_clears_what_it_left(tmp_path, dead):
    run = Run(recipe="r", victim="v", data="d", n=1)
    with Writer(tmp_path, run):
        pass
    (tmp_path / f".run.toml.{dead}").write_text("half")
    (tmp_path / f".report.html.{dead}").write_text("half")
    with Writer(tmp_path, run):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outcomes.jsonl", "run.toml"]


KILLED = """
import os, signal, sys
from pathlib import Path
from malaprop.training.folder import write_folder

target, when = Path(sys.argv[1]), sys.argv[2]
rename, renames = Path.rename, []

def counted(self, other):
    if len(renames) == int(when):
        os.kill(os.getpid(), signal.SIGKILL)
    renames.append(other)
    return rename(self, other)

Path.rename = counted
with write_folder(target) as made:
    (made / "model.json").write_text("new")
"""


@pytest.mark.parametrize(("when", "found"), [(0, "old"), (1, "new")])
def test_a_model_is_never_lost_however_its_writer_was_killed(tmp_path, when, found):
    target = tmp_path / "models" / "hard"
    target.mkdir(parents=True)
    (target / "model.json").write_text("old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(target), str(when)], check=False)
    assert ended.returncode == -9
    assert len(list(target.parent.iterdir())) == (2 if when == 0 else 1)
    check_target(target)
    assert [path.name for path in target.parent.iterdir()] == ["hard"]
    assert (target / "model.json").read_text() == found


def test_a_half_names_its_file_process_and_machine():
    assert partial_path(Path("x/run.toml")) == Path(f"x/.run.toml.{os.getpid()}@{platform.node()}")
