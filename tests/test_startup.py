"""What starts at once: importing loads no library of numbers or models, and help is there in an eye's blink."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "transformers", "spacy", "sklearn", "datasets", "pyarrow", "safetensors", "tokenizers", "skops")


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(code: str) -> set[str]:
    """The top-level modules that this code loads."""
    shown = "print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    return set(python(f"import sys\n{code}\n{shown}").splitlines()[-1].split())


def best(code: str, times: int = 5) -> float:
    """The shortest of some runs, in seconds of processor time: on a busy machine the clock measures the others."""
    out = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        python(code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        out.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(out)


HELP = """
try:
    from malaprop.cli.main import main
    sys.argv = ["malaprop", *{args}]
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


def test_importing_the_package_loads_no_library():
    found = loaded("import malaprop")
    assert not found & {*HEAVY, "numpy", "rich", "typer"}


def test_every_public_name_is_found_when_asked_for():
    import malaprop

    assert set(malaprop.__all__) <= set(dir(malaprop))
    assert all(getattr(malaprop, name) is not None for name in malaprop.__all__)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        malaprop.no_such_name  # noqa: B018


def test_importing_the_package_is_fast():
    assert best("import malaprop") < 4 * best("pass")


@pytest.mark.parametrize(
    "module",
    [
        "malaprop.core.text",
        "malaprop.engine.drive",
        "malaprop.attacks.recipes.words",
        "malaprop.attacks.recipes.chars",
        "malaprop.frame.runs.local",
        "malaprop.frame.records",
        "malaprop.data",
        "malaprop.models",
    ],
)
def test_no_layer_loads_a_model_library_by_being_imported(module):
    assert not loaded(f"import {module}") & set(HEAVY)


def test_every_report_module_starts_without_a_model_library():
    found = loaded(
        "import importlib, pkgutil, malaprop.frame.report\n"
        "for module in pkgutil.walk_packages(malaprop.frame.report.__path__, 'malaprop.frame.report.'):\n"
        "    importlib.import_module(module.name)"
    )
    assert not found & set(HEAVY)


@pytest.mark.parametrize("args", [["--help"], ["audit", "--help"], ["attack", "--help"], ["report", "--help"]])
def test_help_loads_no_library_of_numbers(args):
    assert not loaded(HELP.format(args=args)) & {*HEAVY, "numpy"}


AUDIT = """
import os, sys
sys.path[:0] = [{home!r}]
import malaprop.assets.measures as measures
measures.why_no_judge = lambda *_, **__: ""  # its assets are there, and it is asked after the victim
sys.argv = ["malaprop", "audit", "--victim", "asked_once:predict", "--data", {data!r}, "--out", {out!r}, "--quiet"]
from malaprop.cli.main import main
main()
"""
ASKED = """import os, sys
def predict(texts):
    print(" ".join(sorted({name.partition(".")[0] for name in sys.modules})), flush=True)
    os._exit(0)
"""
LATER = {*HEAVY, "scipy", "pandas", "matplotlib", "ray", "requests", "sympy", "rich", "asyncio"}


def test_an_audit_of_a_function_asks_it_before_any_library_of_models_is_loaded(tmp_path):
    (tmp_path / "asked_once.py").write_text(ASKED, encoding="utf-8")
    (tmp_path / "own.csv").write_text("text,label\na good film,1\na dull film,0\n", encoding="utf-8")
    found = python(AUDIT.format(home=str(tmp_path), data=str(tmp_path / "own.csv"), out=str(tmp_path / "out")))
    assert "numpy" in found.split()
    assert not LATER & set(found.split())


@pytest.mark.parametrize(
    ("version", "driver", "expected"),
    [
        ("cuda: Optional[str] = None\nhip: Optional[str] = None\n", True, False),
        ("cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", True, True),
        ("cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", False, False),
        ("cuda: Optional[str] = None\nhip: Optional[str] = '6.2'\n", False, True),
        (None, False, True),
    ],
)
def test_a_gpu_is_looked_for_without_loading_torch(version, driver, expected, tmp_path, monkeypatch):
    from malaprop.frame.runs import victims

    if version is not None:
        (tmp_path / "version.py").write_text(version, encoding="utf-8")

    def open_driver(name):
        if not driver:
            raise OSError(name)

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(victims, "find_spec", lambda _: SimpleNamespace(origin=str(tmp_path / "__init__.py")))
    monkeypatch.setattr(victims.ctypes, "CDLL", open_driver)
    assert victims.may_have_gpu() is expected


def test_help_is_fast():
    """Little more than loading the library of options takes; a ratio, since seconds are the machine's."""
    ratio = best("import sys\n" + HELP.format(args=["--help"])) / best("import typer")
    assert ratio < 2


@pytest.mark.parametrize("package", ["records", "reports", "frame.records", "frame.report"])
def test_names_that_are_given_late_are_those_that_type_checkers_know(package):
    import ast
    import importlib

    module = importlib.import_module(f"malaprop.{package}")
    stub = ast.parse((ROOT / "malaprop" / package.replace(".", "/") / "__init__.pyi").read_text())
    given = [(node.module, name.name) for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names]
    if given[0][1] == "*":  # another package's names, which its own stub lists
        assert given == [(f"malaprop.frame.{package.replace('reports', 'report')}", name) for name in ("*", "__all__")]
        assert module.__all__ == importlib.import_module(given[0][0]).__all__
    else:
        assert {name for _, name in given} == set(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        module.nothing  # noqa: B018


@pytest.mark.parametrize("name", ["oneword", "hotflip", "attention", "leaderboard"])
def test_help_of_a_study_loads_no_library_of_numbers(name):
    assert not loaded(HELP.format(args=["study", name, "--help"])) & {*HEAVY, "numpy"}
