"""Runs the scripts in examples/ and the code of README, docs and tutorials that is marked as runnable.

How blocks are marked: tools/notebooks.py. Tutorials are notebooks too, made from the same pages by the same program.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials" and page.name != "index.md"]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
LONG = {"cluster", "harden", "huggingface"}  # a Ray of their own, thousands of queries, a network that is trained

sys.path.append(str(ROOT / "tools"))

import notebooks  # noqa: E402
from notebooks import Block, blocks  # noqa: E402


def check(found: list[Block], folder: Path, **environment: str) -> None:
    for block, printed in zip(found, notebooks.run(found, folder, **environment), strict=True):
        if block.output is not None and not notebooks.matches(block.output, printed, block.about):
            assert printed == block.output


def marked(*, assets: bool) -> list[Path]:
    return [
        p for p in PAGES if any(b.assets == assets and b.file is None for b in blocks(p.read_text(encoding="utf-8")))
    ]


def timed(pages: list[Path]) -> list[object]:
    return [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in LONG and page in TUTORIALS)) for page in pages]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_pages_have_runnable_blocks():
    assert len(marked(assets=False)) >= 5
    assert len(SCRIPTS) >= 3


@pytest.mark.parametrize("page", timed(marked(assets=False)), ids=name)
def test_page_runs_offline(page, tmp_path):
    found = [b for b in blocks(page.read_text(encoding="utf-8")) if not b.assets]
    check(found, tmp_path, **notebooks.isolate(tmp_path))


@pytest.mark.assets
@pytest.mark.parametrize("page", marked(assets=True), ids=name)
def test_page_runs_with_assets(page, tmp_path, real_asset):
    real_asset("wordnet", "counter-fitted", "movie-reviews")
    check(blocks(page.read_text(encoding="utf-8")), tmp_path)


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_example_runs_offline(script, tmp_path):
    if "sklearn" in script.name:
        pytest.importorskip("sklearn")
    block = Block(f"python -W error -W ignore::DeprecationWarning {script}\n", "sh")
    assert notebooks.run([block], tmp_path, **notebooks.isolate(tmp_path))[0].strip()


@pytest.mark.parametrize("page", TUTORIALS, ids=name)
def test_the_notebook_is_that_of_the_page(page):
    made = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert made == notebooks.notebook(page.read_text(encoding="utf-8")), f"run: python tools/notebooks.py {name(page)}"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("```python\nx\n```\n", []),
        ("<!-- run -->\n```python\nx = 1\n```\n", [Block("x = 1\n")]),
        ("<!-- run assets -->\n```sh\nls\n```\n", [Block("ls\n", "sh", assets=True)]),
        ("<!-- file a.csv -->\n```text\nx\n```\n", [Block("x\n", "text", file="a.csv")]),
        (
            "<!-- run -->\n```python\nprint(1)\n```\n\n<!-- output about -->\n```text\n1\n```\n",
            [Block("print(1)\n", output="1\n", about=True)],
        ),
    ],
)
def test_blocks_are_found(page, expected):
    assert blocks(page) == expected


def test_blocks_are_one_program_with_files_and_commands(tmp_path):
    found = [Block("1,2\n", "text", file="a.csv"), Block("cat a.csv\n", "sh"), Block("print(open('a.csv').read())\n")]
    assert notebooks.run(found, tmp_path) == ["", "1,2\n", "1,2\n\n"]


@pytest.mark.parametrize(
    ("promised", "printed", "about", "equal"),
    [
        ("1\n", "2\n", False, False),
        ("port ... is open\n", "port 80 is open  \n", False, True),
        ("a  12.5%\n────\n", "a 7%\n──\n", True, True),
        ("a 12\n", "b 12\n", True, False),
    ],
)
def test_outputs_are_compared(promised, printed, about, equal):
    assert notebooks.matches(promised, printed, about) is equal


@pytest.mark.parametrize(
    "found",
    [[Block("print(1)\n", output="2\n")], [Block("x = 1\n"), Block("assert x == 2\n")], [Block("false\n", "sh")]],
    ids=["output", "python", "shell"],
)
def test_what_fails_is_noticed(found, tmp_path):
    with pytest.raises(AssertionError):
        check(found, tmp_path)


def test_outputs_are_filled_in():
    page = "<!-- run -->\n```sh\nx\n```\n\n<!-- output -->\n```text\nold\n```\n"
    assert notebooks.fill(page, ["new\n"]) == page.replace("old", "new")
    assert notebooks.fill(page, ["old \n"]) == page
