import os
import subprocess
import sys

import pytest
from malaprop_bench.child import BenchError, environment, import_folder, run


def test_threads_are_set_for_every_library():
    env = environment(3, {"NLTK_DATA": "x"})
    assert [env[f"{n}_NUM_THREADS"] for n in ("OMP", "MKL", "OPENBLAS")] == ["3"] * 3
    assert env["NLTK_DATA"] == "x"


def test_only_the_two_packages_can_be_imported_from_the_folder(tmp_path):
    folder = import_folder(import_folder(tmp_path))
    assert sorted(os.listdir(folder)) == ["malaprop", "malaprop_bench"]
    code = "import malaprop.core.text as t; print(t.__file__)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(folder)}, capture_output=True, text=True
    )
    assert "No module named 'numpy'" in done.stderr  # found, and nothing of its neighbours


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            [sys.executable, "-c", "raise ValueError('no such tagger')"],
            "the peer ended with 1: ValueError: no such tagger",
        ),
        ([sys.executable, "-c", "raise SystemExit(3)"], "the peer ended with 3: no message"),
        (["no-such-python"], "the peer cannot start"),
    ],
)
def test_a_failure_is_said_in_one_line(command, said):
    with pytest.raises(BenchError, match=said):
        run(command, environment(1, {}), seconds=60, what="the peer")


def test_a_run_over_its_time_ends(monkeypatch):
    monkeypatch.setattr("malaprop_bench.child.GRACE", 0)
    with pytest.raises(BenchError, match="took over 0 s"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], environment(1, {}), seconds=0.3, what="the peer")
