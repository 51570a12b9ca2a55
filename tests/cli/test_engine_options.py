"""--engine, --n all, and folders that cannot be written."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from malaprop.cli.main import main
from malaprop.core.errors import RecordError
from malaprop.data import stream
from malaprop.frame.records.store import check_writable

MODEL = """
def predict(texts):
    leans = [("good" in t) - ("bad" in t) for t in texts]
    return [[0.5 - 0.2 * x, 0.5 + 0.2 * x] for x in leans]

def never(texts):
    raise AssertionError("no work should have begun")
"""


@pytest.fixture
def type_in(tmp_path, monkeypatch, capsys):
    (tmp_path / "enginetoy.py").write_text(MODEL)
    (tmp_path / "texts.csv").write_text("text,label\n" + "a good film,1\na bad film,0\n" * 60)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["malaprop", *words])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    yield run
    sys.modules.pop("enginetoy", None)


def attack(*more: str, victim: str = "enginetoy:predict") -> tuple[str, ...]:
    return ("attack", "keyboard", "--victim", victim, "--data", "texts.csv", "--device", "cpu", *more)


@pytest.mark.parametrize("count", ["all", "ALL", "0"])
@pytest.mark.parametrize("large", [0, 1 << 30])
def test_all_examples_held_or_streamed(type_in, monkeypatch, count, large):
    monkeypatch.setattr(stream, "LARGE", large)
    code, out, said = type_in(*attack("--n", count, "--out", "run", "--json", "--quiet"))
    assert code == 0, said
    assert sum(json.loads(out)["counts"].values()) == 120
    assert len(Path("run/outcomes.jsonl").read_text().splitlines()) == 120


def test_a_streamed_run_resumes(type_in, monkeypatch):
    monkeypatch.setattr(stream, "LARGE", 0)
    monkeypatch.setattr(stream, "HELD", 0)
    assert type_in(*attack("--n", "90", "--out", "run", "--quiet"))[0] == 0
    lines = Path("run/outcomes.jsonl").read_text().splitlines(keepends=True)
    assert len(lines) == 90
    Path("run/outcomes.jsonl").write_text("".join(lines[:50]) + lines[50][:9])
    assert type_in(*attack("--n", "90", "--out", "run", "--quiet", "--resume"))[0] == 0
    again = Path("run/outcomes.jsonl").read_text().splitlines(keepends=True)
    assert sorted(json.loads(line)["id"] for line in again) == sorted(json.loads(line)["id"] for line in lines)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--n", "some"), "--n takes a whole number or all, got 'some'"),
        (("--n", "-3"), "--n must be at least 0, got -3"),
        (("--engine", "rya"), "--engine takes local, ray; got 'rya'"),
        (("--max-cost", "3"), "--max-cost needs a price; give --price-in or --price-out"),
        (("--price-in", "-1"), "--price-in must be at least 0, got -1"),
        (("--max-minutes", "0"), "--max-minutes must be more than 0, got 0"),
        (("--address", "head:6379"), "--address is for --engine ray"),
        (("--engine", "ray", "--cache", "x.sqlite"), "leave it out with --engine ray"),
        (("--engine", "ray", "--address", "head"), "--address takes HOST:PORT"),
        (
            ("--out", "texts.csv/run"),
            "cannot write to texts.csv/run: .*texts.csv is not a folder; choose",
        ),
        (("--out", "/proc/none/run"), "cannot write to /proc/none/run: /proc is read-only for this user"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(type_in, monkeypatch, more, words):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr("os.access", lambda path, mode: not str(path).startswith("/proc"))
    code, _, said = type_in(*attack(*more, victim="enginetoy:never"))
    assert code == 2
    assert re.search(words, " ".join(said.replace("│", " ").split())), said


def test_a_folder_is_checked_and_not_made(tmp_path):
    check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="is not a folder"):
        check_writable(tmp_path / "file" / "run")
