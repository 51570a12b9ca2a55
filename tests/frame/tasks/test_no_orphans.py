"""A driver that is killed leaves no process behind, at whatever moment it is killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
# What a session holds is found by its id, which children inherit and keep when their parent is gone.
DRIVER = """
import sys
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.frame.tasks.workers.processes import Processes
if "slow" not in sys.argv:  # nothing is imported ahead, so that attacks are soon under way
    Processes.__init__.__kwdefaults__["preload"] = ()
if __name__ == "__main__":
    pairs = [(f"a good film {n}", n % 2) for n in range(2000)]
    given = {"recipe": "deepwordbug", "victim": "toy:predict", "data": "rows.csv", "n": "all", "jobs": 2}
    conduct(build(find_study("attack"), {**given, "device": "cpu", "quiet": True, "out": sys.argv[1]}))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


def session_of(leader: int) -> dict[int, str]:
    """The living processes of a session, with their command lines."""
    found = {}
    for place in Path("/proc").iterdir():
        try:
            state, _, _, session = (place / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found[int(place.name)] = (place / "cmdline").read_text().replace("\0", " ")[:80]
        except (OSError, ValueError):
            continue
    return found


def left_behind(room: Path, name: str, wait: float, start: str) -> dict[int, str]:
    """Kills a driver after so many seconds; what of its processes is there three seconds later."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    driver = subprocess.Popen(
        [sys.executable, "driver.py", name, start], cwd=room, env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(wait)
    driver.kill()
    driver.wait()
    until = time.monotonic() + 3
    while (left := session_of(driver.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    for one in left:
        os.kill(one, 9)
    return left


@pytest.fixture
def room(tmp_path):
    (tmp_path / "driver.py").write_text(DRIVER)
    rows = "".join(f"a good film and a bad one {n},{n % 2}\n" for n in range(3000))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}")
    return tmp_path


# the server of forks imports libraries for seconds before it would look whether its driver is there
@pytest.mark.parametrize(("wait", "start"), [(1.0, "slow"), (2.5, "slow"), (4.0, "quick")])
def test_a_killed_driver_takes_its_processes_along(room, wait, start):
    assert left_behind(room, "run", wait, start) == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_kills_at_random_moments_leave_nothing(room):
    rng = random.Random(0)
    for number in range(20):
        assert left_behind(room, f"run-{number}", rng.uniform(0.3, 9), rng.choice(["slow", "quick"])) == {}
