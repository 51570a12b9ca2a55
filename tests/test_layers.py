"""The import contract: data moves one way, rooms do not know their neighbours, and strings count as imports."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = ("core", "assets", "models engine data", "attacks", "training", "zoo", "frame", "features", "papers", "cli")
LEVEL = {name: level for level, row in enumerate(ROWS) for name in row.split()}
_NAMED = re.compile(r"malaprop(?:\.[A-Za-z_]\w*)+")
# (module, what it names): each with its reason
ALLOWED = {
    ("malaprop.frame.rooms", "malaprop.rooms"),  # the one table by which the frame learns of rooms
}


def test_the_import_contract_is_kept(tmp_path):
    run = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as go; go()"]
    done = subprocess.run(
        [*run, "--config", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 kept, 0 broken" in done.stdout


def named_in_strings(source: str) -> Iterator[str]:
    """The dotted names of ours in string constants, those of f-strings too; docstrings are for readers."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from _NAMED.findall(node.value)


def room_of(name: str) -> tuple[str, ...]:
    parts = name.split(".")[1:]
    return tuple(parts[: 2 if parts[0] in ("features", "papers") else 1])


def is_higher(module: str, named: str) -> bool:
    """Whether the second is above the first, or a neighbour of it."""
    here, there = room_of(module), room_of(named)
    if there[0] not in LEVEL:
        return (ROOT / "malaprop" / f"{there[0]}.py").is_file()  # what stands at the top
    if here[0] not in LEVEL or here[:1] == ("cli",):
        return False
    level, other = LEVEL[here[0]], LEVEL[there[0]]
    return other > level or (other == level and here[0] in ("features", "papers") and here != there)


def test_no_string_names_a_higher_room_or_a_neighbour():
    faults = []
    for path in sorted((ROOT / "malaprop").glob("*/**/*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        faults += [
            f"{module} names {named}"
            for named in named_in_strings(path.read_text(encoding="utf-8"))
            if is_higher(module, named) and (module, named) not in ALLOWED
        ]
    assert not faults


def test_a_string_above_is_found():
    assert list(
        named_in_strings('"""malaprop.cli"""\nA = "malaprop.features.audit.study:Audit"\nB = f"malaprop.cli.{A}"')
    ) == [
        "malaprop.features.audit.study",
        "malaprop.cli",
    ]
    assert is_higher("malaprop.frame.study.commands", "malaprop.features.audit.study")
    assert is_higher("malaprop.papers.hotflip.study", "malaprop.papers.natural.study")
    assert is_higher("malaprop.frame.rooms", "malaprop.rooms")
    assert not is_higher("malaprop.papers.hotflip.study", "malaprop.features.hardening.study")


def count_lines(source: str) -> Iterator[tuple[int, str]]:
    """The number of lines and the name of each function."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield (node.end_lineno or 0) - node.lineno + 1, node.name


def test_no_function_has_more_than_60_lines():
    long = [
        f"{path.relative_to(ROOT)}: {name} has {lines}"
        for path in sorted((ROOT / "malaprop").glob("**/*.py"))
        for lines, name in count_lines(path.read_text(encoding="utf-8"))
        if lines > 60
    ]
    assert not long


def test_lines_of_a_function_are_counted():
    source = "@cache\ndef short():\n    pass\n\n\nclass A:\n    async def long(self):\n" + "        pass\n" * 60
    assert sorted(count_lines(source)) == [(2, "short"), (61, "long")]


NAMES_FILE = re.compile(r"`([\w/]+\.py)`")


def find_missing(text: str, folder: Path) -> list[str]:
    """The files that a text names and that are nowhere below the folder."""
    return [name for name in NAMES_FILE.findall(text) if not any(folder.rglob(name))]


def test_a_package_names_files_that_it_has():
    faults = {
        str(path.relative_to(ROOT)): missing
        for path in sorted((ROOT / "malaprop").glob("**/__init__.py"))
        if (missing := find_missing(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "", path.parent))
    }
    assert not faults


def test_the_page_on_architecture_names_every_room_and_files_that_there_are():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [
        path.parent.name for row in ("features", "papers") for path in (ROOT / "malaprop" / row).glob("*/__init__.py")
    ]
    assert len(rooms) > 10
    assert not [room for room in rooms if not re.search(rf"\b{room}\b", text)]
    assert len(NAMES_FILE.findall(text)) > 10
    assert not [name for name in find_missing(text, ROOT / "malaprop") if not (ROOT / name).is_file()]
    assert find_missing("`rooms.py` and `no_such.py`", ROOT / "malaprop") == ["no_such.py"]
