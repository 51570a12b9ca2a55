"""`import malaprop as mp`: what editors are told is what there is."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import pytest

import malaprop as mp
from malaprop.core.errors import MalapropError
from malaprop.frame.study.python_api import function_of

ROOT = Path(__file__).parents[3]


def test_the_stub_is_what_the_settings_say():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools" / "stubs.py")
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    assert stubs.FILE.read_text(encoding="utf-8") == stubs.stub(), "run: python tools/stubs.py"


def test_a_function_of_a_command_shows_its_settings():
    import toy

    board = function_of("study leaderboard")
    signature = inspect.signature(board)
    assert list(signature.parameters)[:2] == ["victim", "attack"]
    assert "How many examples" in board.__doc__
    found = board([toy.predict], ["deepwordbug"], data=[("a good film", 1)], n=0)
    assert found.record.entries[0].clean.hits == 1
    with pytest.raises(MalapropError, match="got victim twice"):
        board([toy.predict], victims=[toy.predict])


def test_an_attack_given_to_run_still_runs_with_a_warning():
    import toy

    with pytest.warns(DeprecationWarning, match="runs.local.run"):
        found = list(mp.run(toy.listed(), toy.victim(), toy.some_examples(2)))
    assert len(found) == 2
