"""malaprop serve as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the pages are an extra")

import httpx

from malaprop.frame.web.serving import bind

ROOT = Path(__file__).parents[3]


@pytest.fixture
def start(tmp_path):
    """A function that starts the command beside a file of reviews; what still runs is ended."""
    (tmp_path / "reviews.csv").write_text("text,label\na bad film,bad\na good film,good\n", encoding="utf-8")
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "MALAPROP_OFFLINE": "1",
        "MALAPROP_CACHE": str(tmp_path / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    begun: list[subprocess.Popen[str]] = []

    def run(*args: str, victim: str = "toy:predict") -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "malaprop", "serve", "--victim", victim, "--data", "reviews.csv", *args]
        pipe = subprocess.PIPE
        begun.append(subprocess.Popen(command, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True))
        return begun[-1]

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def refused(process: Any) -> str:
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    (line,) = errors.splitlines()
    return line


def test_it_serves_until_it_is_stopped(start):
    process = start("--port", "0", "--json")
    about = json.loads(process.stdout.readline())
    assert about["victims"] == ["toy:predict"]
    address = f"http://127.0.0.1:{about['port']}"
    line = ""
    while not line.startswith("open "):
        line = process.stderr.readline()
        assert line, "it ended"
    assert address in line
    page = httpx.get(address, timeout=30)
    assert "a good film" in page.text
    found = httpx.post(f"{address}/api/scores", json={"fields": {"text": "a great film"}, "victim": 0}).json()
    assert found["prediction"] == 1
    assert httpx.get(address, headers={"host": "elsewhere.example"}, timeout=30).status_code == 421
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_port_in_use_is_found_before_a_model_is_loaded(start):
    with bind("127.0.0.1", 0) as taken:
        line = refused(start("--port", str(taken.getsockname()[1]), victim="no:such"))
    assert "is in use" in line


@pytest.mark.parametrize(
    ("args", "victim", "words"),
    [
        (("--host", "0.0.0.0"), "toy:predict", "pass --expose if that is meant"),
        (("--port", "0"), "a,b,c,d,e", "--victim takes 1 to 4 victims, got 5"),
        (("--port", "0"), "toy:nothing", "nothing"),
        (("--port", "0", "--text", "body"), "toy:predict", "body"),
    ],
)
def test_bad_settings_are_one_line(start, args, victim, words):
    assert words in refused(start(*args, victim=victim))


def test_exposing_says_what_it_means(start):
    process = start("--host", "0.0.0.0", "--port", "0", "--expose")
    lines = []
    while not (lines and lines[-1].startswith("open ")):
        lines.append(process.stderr.readline())
        assert lines[-1], "it ended"
    assert any("whoever reaches 0.0.0.0" in line and "unencrypted" in line for line in lines)
