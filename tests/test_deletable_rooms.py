"""To delete a room is to delete its folder and its line in `malaprop/rooms.py`: what is left goes on working."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from malaprop.rooms import ROOMS

ROOT = Path(__file__).parents[1]
DELETABLE = tuple(room for room in ROOMS if room != "malaprop.cli")
TOOLKIT = ("tests/core", "tests/engine/test_drive.py")
# Forks a process for each line that it reads, in that folder, and answers with its exit code and what it says: the
# library that takes longest is imported once.
FORKS = """
import json, os, sys, tempfile
import torch

checks = sys.stdin.readline()
for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as said:
        if not (child := os.fork()):
            os.chdir(line.strip())
            os.dup2(said.fileno(), 1), os.dup2(said.fileno(), 2)
            sys.path.insert(0, line.strip())
            code = 1
            try:
                exec(json.loads(checks), {"__name__": "__main__"})
                code = 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        print(json.dumps([status, said.read()]), flush=True)
"""
# Run in the copy: the commands in one process, and every name and part that is left, loaded.
CHECKS = """
import contextlib, io, json, sys

from malaprop.cli.main import app

def command(*words):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        app(list(words), standalone_mode=False)
    return said.getvalue()

def predict(texts):
    return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]

import malaprop as mp
from malaprop.frame.rooms import added, load
from malaprop.frame.records.kinds import kinds

shown = {"help": command("--help"), "names": sorted(mp.__all__), "place": mp.__file__}
for name in mp.__all__:
    getattr(mp, name)
parts = ("wrappers", "methods", "augmenters", "models", "alterations", "neighbourhoods", "rankings", "descriptions")
for part in parts:
    for place in added(part).values():
        load(place)
for kind in kinds().values():
    load(kind.record), load(kind.section)
for one in added("commands").values():
    one.load()
command("list", "defences", "--json")
command("list", "models", "--json")
victim = mp.victim(predict)
if "audit" in mp.__all__:
    sys.modules["own"] = type(sys)("own")
    sys.modules["own"].predict = predict
    with open("texts.csv", "w") as file:
        file.write("text,label\\na good film,1\\na bad film,0\\n")
    words = ["--victim", "own:predict", "--data", "texts.csv", "--attack", "deepwordbug", "--out", "runs", "--quiet"]
    command("audit", "--validity", "paper", *words)
    command("report", "runs", "--quiet")
else:
    from malaprop.frame.runs.local import run
    outcomes = list(run(mp.recipe("deepwordbug"), victim, [mp.Example("1", {"text": "a good film"}, 1)]))
    assert outcomes[0].status == "success"
print(json.dumps(shown))
"""


@cache
def needed() -> dict[str, frozenset[str]]:
    """For each room, the rooms that its modules import, now or when they are called."""
    found: dict[str, set[str]] = {room: set() for room in DELETABLE}
    for room in DELETABLE:
        for path in (ROOT / room.replace(".", "/")).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                found[room] |= {other for other in DELETABLE for name in names if f"{name}.".startswith(f"{other}.")}
    return {room: frozenset(others - {room}) for room, others in found.items()}


def gone_with(room: str) -> set[str]:
    """The room, and those that build on it."""
    gone: set[str] = set()
    more = {room}
    while more:
        gone |= more
        more = {other for other, below in needed().items() if below & gone} - gone
    return gone


def copy_without(room: str, where: Path) -> set[str]:
    """Copy the package without a room and those that build on it, by hard links where the file system has them."""
    gone = gone_with(room)
    folders = {ROOT / name.replace(".", "/") for name in gone}

    def leave_out(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if Path(folder) / name in folders}

    shutil.copytree(ROOT / "malaprop", where / "malaprop", copy_function=_link, ignore=leave_out)
    table = where / "malaprop" / "rooms.py"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    left = [line for line in lines if line.strip().rstrip(",").strip('"') not in gone]
    assert len(left) == len(lines) - len(gone), "a room has one line in the table"
    table.unlink()  # a link: the original stays
    table.write_text("".join(left), encoding="utf-8")
    return gone


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def forks():
    """A process that runs the checks in a folder, each time in a fresh fork."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"MALAPROP_OFFLINE": "1", "MALAPROP_TRACE": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", FORKS], env=env, cwd="/", text=True, **pipes) as process:
        print(json.dumps(CHECKS), file=process.stdin, flush=True)

        def check(where: Path) -> str:
            print(where, file=process.stdin, flush=True)
            status, said = json.loads(process.stdout.readline())
            assert status == 0, said[-6000:]
            assert f'"{where}' in said, "the copy is what was looked at"
            return said.splitlines()[-1]

        yield check
        process.stdin.close()


def run_in(where: Path, *words: str, limit: int = 120) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=where,
        env=os.environ | {"PYTHONPATH": str(where), "MALAPROP_OFFLINE": "1", "MALAPROP_TRACE": "1"},
        capture_output=True,
        text=True,
        timeout=limit,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


@pytest.mark.parametrize("room", DELETABLE)
def test_what_is_left_works_without_a_room(room, tmp_path, forks):
    gone = copy_without(room, tmp_path)
    shown = json.loads(forks(tmp_path))
    assert ("audit" in shown["names"]) == ("malaprop.features.audit" not in gone)
    assert ("certify" in shown["help"]) == ("malaprop.features.defending" not in gone)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("room", DELETABLE)
def test_types_and_the_tests_of_the_toolkit_hold_without_a_room(room, tmp_path):
    copy_without(room, tmp_path)
    for name in ("tools", "tests", "pyproject.toml", ".mypy_cache"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name)
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / "malaprop" / "__init__.pyi").unlink()  # generated from the rooms that are left
    run_in(tmp_path, "tools/stubs.py")
    run_in(tmp_path, "-m", "mypy", "malaprop", limit=600)
    run_in(tmp_path, "-m", "pytest", "-n", "0", "-m", "not slow and not assets", *TOOLKIT, limit=600)


def test_rooms_that_build_on_others_are_known():
    assert gone_with("malaprop.papers.claims") == {"malaprop.papers.claims"}
    assert gone_with("malaprop.features.defending") > {"malaprop.papers.firebert"}
    assert all(len(gone_with(room)) < len(DELETABLE) for room in DELETABLE)
