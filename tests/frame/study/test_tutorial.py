"""docs/write-a-study.md: a copy of the package gets the page's room and its line, and is used as the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "write-a-study.md").read_text(encoding="utf-8")
MODEL = """
def predict(texts):
    good = [min(1.0, 0.2 + 0.5 * sum(word in ("good", "great") for word in text.split())) for text in texts]
    return [[1 - p, p] for p in good]
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def place(tmp_path):
    """A folder with a copy of the package that has the page's room and its line, a model and some texts."""
    package = tmp_path / "malaprop"
    room = package / "features" / "lengths"
    room.mkdir(parents=True)
    for source, target in ((ROOT / "malaprop", package), (ROOT / "malaprop" / "features", package / "features")):
        for one in source.iterdir():
            if one.name not in ("features", "rooms.py", "__pycache__"):
                (target / one.name).symlink_to(one)
    files = [found for found in (re.match(r"# (\S+\.py)\n", block) for block in blocks("python")) if found]
    for found in files:
        name = found[1].removeprefix("lengths/")
        (tmp_path if name.startswith("test_") else room).joinpath(name).write_text(found.string)
    (line,) = re.findall(r'^ +"malaprop.features.lengths",\n', PAGE, re.MULTILINE)
    table = (ROOT / "malaprop" / "rooms.py").read_text(encoding="utf-8")
    (package / "rooms.py").write_text(table.replace("ROOMS = (\n", f"ROOMS = (\n{line}"))
    (tmp_path / "my_model.py").write_text(MODEL)
    rows = [(f"a {'good' if n % 2 else 'dull'} film {'and so on ' * (n % 3)}", n % 2) for n in range(24)]
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return tmp_path


def test_the_study_of_the_page_does_what_the_page_says(place):
    (commands,) = [block for block in blocks("sh") if "study lengths" in block]
    lines = [line.split() for line in commands.replace("\\\n", " ").splitlines()]
    said = [_run(place, words) for words in lines if words and words[0] == "malaprop"]
    assert "Count how often each attack succeeds on short" in said[0]
    rows = json.loads(said[1].splitlines()[-1])["rows"]
    assert [row["attack"] for row in rows] == ["deepwordbug", "typos"]
    record = json.loads((place / "runs" / "lengths" / "lengths.json").read_text())
    assert [row["attack"] for row in record["rows"]] == ["deepwordbug", "typos", "homoglyph"]
    assert sum(one["total"] for one in record["rows"][0]["success"]) == 24
    assert "Middling" in (place / "runs" / "report.html").read_text()


def test_the_test_of_the_page_passes(place):
    _run(place, ["pytest", "-q", "-p", "no:cacheprovider", "test_lengths.py"])


def _run(place: Path, words: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(place), "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_name_of_the_page_is_there():
    """The tables of the page name members, outputs and options that exist."""
    from dataclasses import fields
    from inspect import signature

    from malaprop.frame.study.settings import opt
    from malaprop.frame.tasks import outputs
    from malaprop.frame.tasks.task import Task

    tables = dict(
        re.findall(r"^### (Tasks|The settings are the options)\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    )
    members = set(re.findall(r"^\| `(\w+)` \|", tables["Tasks"], re.MULTILINE))
    assert members == {one.name for one in fields(Task)}
    for name in re.findall(r"^\| `(\w+)\(", tables["Tasks"], re.MULTILINE):
        assert hasattr(outputs, name)
    known = set(signature(opt).parameters)
    assert set(re.findall(r"`(\w+)=", tables["The settings are the options"])) <= known
