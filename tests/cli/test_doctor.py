"""malaprop doctor says what is there and what is missing, and shows no secret."""

import json

import pytest

from malaprop.cli import doctor
from malaprop.cli.main import app


@pytest.fixture
def ask(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MALAPROP_DATA", raising=False)

    def run(*words):
        app(["doctor", "--offline", *words], standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_it_says_what_is_installed_and_cached(ask, monkeypatch):
    monkeypatch.setenv("MALAPROP_API_KEY", "sk-123")
    out = ask()
    assert "package index: not asked" in out
    assert "MALAPROP_API_KEY=(hidden)" in out
    assert "sk-123" not in out
    assert "missing: wordnet" in out


def test_the_last_line_of_json_is_the_same_report(ask):
    found = json.loads(ask("--json", "--quiet").splitlines()[-1])
    assert found["assets"]["wordnet"] == "missing"
    assert found["writable"]
    assert found["index"] == "not asked"


def test_a_missing_library_names_its_extra(monkeypatch):
    lines = [
        "numpy>=1",
        'torch>=2; extra == "torch"',
        'nowhere>=1; extra == "torch"',
        'malaprop[torch]; extra == "all"',
    ]
    monkeypatch.setattr(doctor, "requires", lambda name: lines)
    monkeypatch.setattr(doctor, "_find_version", lambda name: "" if name == "nowhere" else "2")
    assert doctor.list_extras() == {"": {"numpy": "2"}, "torch": {"torch": "2", "nowhere": ""}}
    found = doctor.examine(ask_index=False)
    assert "torch: torch 2; missing: nowhere (pip install 'malaprop[torch]')" in doctor._write(found)


def test_a_wrong_folder_of_data_is_a_line_of_the_report(ask, monkeypatch):
    monkeypatch.setenv("MALAPROP_DATA", "/nowhere/at/all")
    assert "MALAPROP_DATA is set to /nowhere/at/all, which is not a folder" in ask()
