"""The base install: what it does without the libraries of the extras, and how it names what is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from malaprop.core.errors import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WITHOUT = "import sys\nfor name in {names!r}:\n    sys.modules[name] = None\n"  # as if it were not installed
MODEL = "def predict(texts):\n    return [[0.9, 0.1] if 'bad' in t else [0.2, 0.8] for t in texts]\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "my.csv").write_text("text,label\na bad film,0\na good film,1\n")
    return tmp_path


def type_in(place: Path, *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command where only the base install is there."""
    code = WITHOUT.format(names=sorted(EXTRAS)) + "from malaprop.cli.main import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_base_install_audits_a_function_and_names_the_extra_of_a_recipe_that_lacks_a_library(place):
    words = ("--victim", "my_model:predict", "--data", "my.csv", "--attacks", "deepwordbug,bae,keyboard", "--out", "r")
    code, out, err = type_in(place, "audit", "--validity", "paper", *words, "--json", "--quiet")
    assert code == 0, err
    assert [run["recipe"] for run in json.loads(out)["runs"]] == ["deepwordbug", "keyboard"]
    assert "under bae: this needs torch, which is not installed; install it with: pip install 'malaprop[torch]'" in err
    assert (place / "r" / "report.html").is_file()


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("train", "LSTM-W-GloVe-1", "--data", "my.csv"), "torch"),
        (("attack", "typos", "--victim", "LSTM-W-GloVe-1", "--data", "my.csv"), "torch"),
        (("attack", "typos", "--victim", "my_model:predict", "--data", "my.csv", "--device", "cuda"), "torch"),
        (("attack", "typos", "--victim", "my_model:predict", "--data", "hub:imdb"), "hf"),
        (("attack", "typos", "--victim", "my_model:predict", "--data", "my.csv", "--engine", "ray"), "ray"),
        (("serve", "--victim", "my_model:predict"), "web"),
    ],
)
def test_what_the_base_install_lacks_is_named_with_its_extra(place, words, extra):
    code, _, err = type_in(place, *words)
    assert code == 2
    assert f"malaprop[{extra}]" in err
    assert len(err.splitlines()) == 1


def test_the_pages_in_the_browser_need_no_torch():
    names = sorted(set(EXTRAS) - {"fastapi", "jinja2", "python_multipart", "uvicorn"})
    code = (
        WITHOUT.format(names=names)
        + "import malaprop.features.playground.app, malaprop.features.playground.command, malaprop.features.humans"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_lists_need_no_extra(place):
    assert type_in(place, "list", "recipes")[0] == 0


def test_every_extra_that_is_named_brings_its_library():
    extras = PROJECT["optional-dependencies"]
    called = {"sklearn": "scikit-learn", "mlflow": "mlflow-skinny", "python_multipart": "python-multipart"}
    for library, extra in EXTRAS.items():
        brought = {re.split(r"[><=\[]", wish)[0] for wish in extras[extra]}
        assert called.get(library, library) in brought, library


def test_the_base_install_wants_no_library_of_an_extra():
    wanted = {re.split(r"[><=\[]", wish)[0] for wish in PROJECT["dependencies"]}
    assert not wanted & set(EXTRAS)


def test_every_extra_is_on_the_page_about_installing():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


def test_the_pythons_that_were_tried_are_those_that_are_named():
    lines = (ROOT / "docs" / "measured" / "install-pythons.jsonl").read_text(encoding="utf-8").splitlines()
    tried = [json.loads(line) for line in lines]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert all(f"{row['python']} " in page.replace(",", " ") and f"{row['megabytes']} MB" in page for row in tried)
    named = {name.rpartition(" ")[2] for name in PROJECT["classifiers"] if name.startswith("Programming Language")}
    assert named == {"3.11", *(row["python"].rpartition(".")[0] for row in tried)}


def test_the_time_of_the_first_hour_is_that_of_the_record():
    held = json.loads((ROOT / "docs" / "measured" / "first-hour.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "appendix" / "performance.md").read_text(encoding="utf-8")
    rows = page.partition("## Your own Hugging Face folder")[2].partition("\n## ")[0].splitlines()
    for step in held["steps"]:
        command = step["command"].replace("--attacks ", "--attack ")  # the option's name when this was measured
        assert any(command in row and row.endswith(f"| {step['seconds']} |") for row in rows)
    assert sum(step["seconds"] for step in held["steps"]) < 15 * 60


def test_the_image_is_built_from_what_is_here():
    recipe, let_in = ((ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", ".dockerignore"))
    copied = [name for line in re.findall(r"^COPY (.+)$", recipe, re.MULTILINE) for name in line.split()[:-1]]
    assert copied
    assert all((ROOT / name).exists() and f"!{name}\n" in let_in for name in copied)
    (extras,) = re.findall(r"'/src\[([\w,]+)\]'", recipe)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_the_version_is_the_same_everywhere():
    from malaprop import __version__

    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_first_page_is_short():
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert len(words) < 900  # about three screens
