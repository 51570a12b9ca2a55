"""Run the marked code blocks of README and docs, and write a notebook for every tutorial.

    python tools/notebooks.py                  # runs docs/tutorials/*.md, fills in what they print, writes notebooks
    python tools/notebooks.py docs/tutorials/sklearn.md
    python tools/notebooks.py --as-is          # writes the notebooks alone: where only the text has changed

A code block counts where one of these comments stands on the line before it:

    <!-- run -->            runs it: python, or sh
    <!-- run assets -->     the same, for code that needs fetched assets such as WordNet
    <!-- file NAME -->      writes the block to a file of that name
    <!-- output -->         what the block before it prints; `...` stands for any text within a line
    <!-- output about -->   the same, but numbers may be others: for models whose training depends on the machine

The blocks of a page are one program, in order. A page runs in a folder of its own, with the CSV files of
docs/tutorials.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
BLOCK = re.compile(
    r"^<!-- (run|run assets|output|output about|file [\w.-]+) -->\n```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
MARK = "\x1e"  # printed between blocks, to tell their output apart
_SHELL = "__import__('subprocess').run(['bash', '-euo', 'pipefail', '-c', {code!r}], check=True)\n"
_FILE = "__import__('pathlib').Path({name!r}).write_text({code!r}, encoding='utf-8')\n"


@dataclass(frozen=True)
class Block:
    """Code that a page runs, or writes to `file`."""

    code: str
    language: str = "python"
    assets: bool = False
    output: str | None = None  # None: whatever it prints
    file: str | None = None
    about: bool = False  # of the output, numbers do not count

    @property
    def program(self) -> str:
        """Return the block as Python code."""
        if self.file is not None:
            return _FILE.format(name=self.file, code=self.code)
        return self.code if self.language == "python" else _SHELL.format(code=self.code)


def blocks(page: str) -> list[Block]:
    """Return the marked blocks of a page, each with its expected output."""
    found: list[Block] = []
    for kind, language, body in BLOCK.findall(page):
        if kind.startswith("output"):
            assert found, "an output without a block before it"
            found[-1] = replace(found[-1], output=body, about=kind == "output about")
        elif kind.startswith("file "):
            found.append(Block(body, language, file=kind.removeprefix("file ")))
        else:
            assert language in ("python", "sh"), f"a block in {language} cannot be run"
            found.append(Block(body, language, kind == "run assets"))
    return found


def isolate(folder: Path) -> dict[str, str]:
    """Return environment variables for an empty cache without downloads."""
    return {"MALAPROP_OFFLINE": "1", "MALAPROP_CACHE": str(folder / "cache"), "MALAPROP_DATA": ""}


def run(found: list[Block], folder: Path, **environment: str) -> list[str]:
    """Run the blocks in a folder; return the output of each; a failure raises AssertionError with stderr."""
    commands = folder / "bin"
    commands.mkdir()
    for name, arguments in (("python", ""), ("malaprop", " -m malaprop")):
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable}{arguments} "$@"\n', encoding="utf-8")
        (commands / name).chmod(0o755)
    for data in TUTORIALS.glob("*.csv"):
        shutil.copy(data, folder)
    script = folder / "page.py"
    script.write_text(f"print({MARK!r}, end='', flush=True)\n".join(one.program for one in found), encoding="utf-8")
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", str(script)]
    path = f"{commands}{os.pathsep}{os.environ.get('PATH', '')}"
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "PATH": path, "COLUMNS": "120"}
    done = subprocess.run(  # noqa: S603 - our own pages
        command, cwd=folder, env={**os.environ, **own, **environment}, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split(MARK)


def trim(text: str) -> str:
    """Return a text without blanks at the ends of its lines and without empty lines around it."""
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def matches(promised: str, printed: str, about: bool = False) -> bool:
    """Return whether a block printed the expected output; with `about` numbers may differ."""
    if about:  # tables grow and shrink with their numbers
        promised, printed = (re.sub(r"[\s─]+", " ", re.sub(r"\d[\d.,]*", "0", text)) for text in (promised, printed))
        return promised.strip() == printed.strip()
    pattern = "[^\n]*".join(re.escape(part) for part in trim(promised).split("..."))
    return re.fullmatch(pattern, trim(printed)) is not None


def fill(page: str, printed: list[str]) -> str:
    """Return the page with the printed output in place of outputs that no longer match."""
    place = -1

    def renew(found: re.Match[str]) -> str:
        nonlocal place
        if not found[1].startswith("output"):
            place += 1
        elif not matches(found[3], printed[place], found[1] == "output about"):
            return f"{found[0][: found.start(3) - found.start()]}{trim(printed[place])}```"
        return found[0]

    return BLOCK.sub(renew, page)


def _cell(number: int, kind: str, text: str, output: str | None = None) -> dict[str, object]:
    made: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    made["source"] = text.strip("\n").splitlines(keepends=True)
    if kind == "code":
        made["execution_count"] = None
        stream = {"output_type": "stream", "name": "stdout", "text": (output or "").splitlines(keepends=True)}
        made["outputs"] = [stream] if output else []
    return made


def _source(block: Block) -> str:
    if block.file is not None:
        return f"%%writefile {block.file}\n{block.code}"
    return block.code if block.language == "python" else f"%%bash\n{block.code}"


def notebook(page: str) -> str:
    """Return a tutorial as a notebook: its text, its code, and the expected output."""
    found, cells, begin = iter(blocks(page)), list[dict[str, object]](), 0

    def tell(text: str) -> None:
        plain = re.sub(r"^<!--.*?-->\n?", "", text, flags=re.MULTILINE | re.DOTALL).strip()
        if plain:
            cells.append(_cell(len(cells), "markdown", plain))

    for match in BLOCK.finditer(page):
        tell(page[begin : match.start()])
        begin = match.end()
        if not match[1].startswith("output"):
            block = next(found)
            cells.append(_cell(len(cells), "code", _source(block), block.output))
    tell(page[begin:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main(pages: list[str]) -> int:
    as_is = "--as-is" in pages
    for path in [Path(page) for page in pages if page != "--as-is"] or sorted(TUTORIALS.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        found = blocks(page)
        if not found:
            continue
        if not as_is:
            with tempfile.TemporaryDirectory() as folder:
                own = {} if any(block.assets for block in found) else isolate(Path(folder))
                page = fill(page, run(found, Path(folder), **own))
        path.write_text(page, encoding="utf-8")
        path.with_suffix(".ipynb").write_text(notebook(page), encoding="utf-8")
        print(path.with_suffix(".ipynb"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
