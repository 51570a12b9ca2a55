"""Ctrl-C reaches every process of a terminal: workers that begin leave it to the driver, and say nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# What every worker imports takes its time, as torch does, and says when it has begun.
SLOW = "import os, pathlib, time\npathlib.Path(os.environ['MARK']).touch()\ntime.sleep(1.5)\n"
DRIVER = """
import signal, sys, time
from pathlib import Path
from malaprop.frame.tasks.worker_context import Place
from malaprop.frame.tasks.workers import processes

def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs begin without
    try:
        with processes.Processes(2, Place(root=Path(sys.argv[1]), device=sys.argv[2]), preload=("slow_import",)):
            time.sleep(30)
    except KeyboardInterrupt:
        sys.exit(130)

if __name__ == "__main__":
    main()
elif sys.argv[2] != "cpu":  # a process that is spawned imports this file
    import slow_import
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no groups of processes here")
@pytest.mark.parametrize("device", ["cpu", "cuda"], ids=["forked", "spawned"])
def test_an_interrupt_while_workers_import_leaves_no_traceback(tmp_path: Path, device: str) -> None:
    (tmp_path / "slow_import.py").write_text(SLOW)
    (tmp_path / "driver.py").write_text(DRIVER)
    mark = tmp_path / "begun"
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    driver = subprocess.Popen(
        [sys.executable, str(tmp_path / "driver.py"), str(tmp_path), device],
        env={**os.environ, "PYTHONPATH": paths, "MARK": str(mark)},
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < end, "no worker began"
        assert driver.poll() is None, driver.communicate()[1]
        time.sleep(0.02)
    os.killpg(driver.pid, signal.SIGINT)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130, said
    assert said == ""
