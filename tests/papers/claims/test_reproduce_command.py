"""malaprop reproduce as a user types it: the one claim that needs no training, and what is refused."""

from __future__ import annotations

import json
import sys

import pytest

from malaprop.cli.main import main


@pytest.fixture
def type_in(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), *capsys.readouterr()

    return run


def test_a_claim_is_run_read_and_written(type_in, tmp_path):
    code, out, err = type_in("reproduce", "u1", "N8", "--out", "claims", "--json")
    assert code == 0, err
    said = json.loads(out.splitlines()[-1])
    assert said["rows"]["U1"] == {"ours": "63 of 63 can be trained by name", "verdict": "by construction"}
    assert said["rows"]["N8"]["verdict"] == "not done"
    assert said["counts"] == {"by construction": 1, "not done": 1}
    assert "malaprop list models --json" in err
    for name in ("claims.json", "claims.md", "report.html", "zoo/output-0.txt", "zoo/done.json"):
        assert (tmp_path / "claims" / name).is_file()
    code, out, err = type_in("reproduce", "U1", "--read", "--out", "claims", "--quiet")
    assert (code, out) == (0, "")
    assert "malaprop list" not in err


def test_the_list_runs_nothing(type_in, tmp_path):
    code, out, _ = type_in("reproduce", "--list", "--json")
    said = json.loads(out.splitlines()[-1])
    assert code == 0
    assert len(said["rows"]) == 42
    assert said["rows"]["S1"]["commands"][0].startswith("malaprop study oneword ")
    code, out, _ = type_in("reproduce", "H", "--list", "--size", "full")
    assert "H1   a CharCNN-LSTM misclassifies few texts of AG News; paper: 8.27% error" in out
    assert "differs: 400 test texts are attacked" in out
    assert (
        out.count("malaprop study hotflip --data ag_news") == 5
    )  # ours, two with the paper's settings, two varied ones
    assert not list(tmp_path.glob("runs*"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "name the claims"),
        (("U77",), "no claim is called 'U77'"),
        (("U1", "--size", "huge"), "no size is called 'huge'"),
        (("U1", "--read"), "--read needs the --out"),
    ],
)
def test_wrong_words_are_one_line(type_in, words, why, tmp_path):
    code, out, err = type_in("reproduce", *words)
    assert code == 2
    assert why in err
    assert len(err.strip().splitlines()) == 1
    assert not out
    assert not list(tmp_path.glob("runs*"))


def test_a_step_that_fails_is_in_the_table_and_in_the_exit_code(type_in, monkeypatch):
    monkeypatch.setattr(
        "malaprop.papers.claims.study.run_command", lambda words, output, minutes: f"{words[0]} ended with 2: why"
    )
    code, out, err = type_in("reproduce", "U1", "N8", "--out", "claims", "--json")
    assert code == 1
    said = json.loads(out.splitlines()[-1])
    assert said["failed"] == {"zoo": "list ended with 2: why"}
    assert said["rows"]["U1"] == {"ours": "list ended with 2: why", "verdict": "not done"}
    assert "1 steps failed: zoo" in err


def test_a_command_that_fails_is_quoted(tmp_path):
    from malaprop.papers.claims.study import run_command

    assert run_command(["report", str(tmp_path / "nothing")], tmp_path / "output.txt").startswith(
        "report ended with 2: no such folder"
    )
    assert run_command(["--version"], tmp_path / "output.txt") == ""
