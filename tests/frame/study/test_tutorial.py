"""docs/write-a-study.md: the study it shows is installed as another package would be, and used as the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
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
    """A folder on the path of Python that holds the page's file, its entry points, a model and some texts."""
    (code,) = [block for block in blocks("python") if block.startswith("# lengths.py")]
    (points,) = [block for block in blocks("toml") if "malaprop.record" in block]
    (tmp_path / "lengths.py").write_text(code)
    (tmp_path / "my_model.py").write_text(MODEL)
    about = tmp_path / "lengths-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lengths\nVersion: 1\n")
    groups = tomllib.loads(points)["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in them.items())
        for group, them in groups.items()
    ]
    (about / "entry_points.txt").write_text("".join(lines))
    rows = [(f"a {'good' if n % 2 else 'dull'} film {'and so on ' * (n % 3)}", n % 2) for n in range(24)]
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return tmp_path


def test_the_study_of_the_page_does_what_the_page_says(place):
    (commands,) = [block for block in blocks("sh") if "study lengths" in block]
    said = [_run(place, line.partition("  #")[0].split()[1:]) for line in commands.strip().splitlines()]
    assert "Count how many short, middling and long texts" in said[0]
    rows = json.loads(said[1].splitlines()[-1])["rows"]
    assert [row["attack"] for row in rows] == ["deepwordbug", "typos"]
    record = json.loads((place / "runs" / "lengths" / "lengths.json").read_text())
    assert [row["attack"] for row in record["rows"]] == ["deepwordbug", "typos", "homoglyph"]
    assert sum(one["total"] for one in record["rows"][0]["broken"]) == 24
    assert "Middling" in (place / "runs" / "report.html").read_text()


def _run(place: Path, words: list[str]) -> str:
    paths = os.pathsep.join([str(place), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "malaprop", *words],
        cwd=place,
        env=os.environ | {"PYTHONPATH": paths, "COLUMNS": "160"},
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
        re.findall(r"^## (Tasks|The settings are the options)\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    )
    members = set(re.findall(r"^\| `(\w+)` \|", tables["Tasks"], re.MULTILINE))
    assert members == {one.name for one in fields(Task)}
    for name in re.findall(r"^\| `(\w+)\(", tables["Tasks"], re.MULTILINE):
        assert hasattr(outputs, name)
    known = set(signature(opt).parameters)
    assert set(re.findall(r"`(\w+)=", tables["The settings are the options"])) <= known
