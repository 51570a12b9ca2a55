"""malaprop status: what folders hold, and what is left."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from every_kind import RECORDS

from malaprop.cli.main import main
from malaprop.frame.records import Outcome, Run, Side, Writer


@pytest.fixture
def type_in(monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", "status", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


def test_runs_records_and_studies_are_told_with_what_is_left(type_in, tmp_path):
    run = Run(recipe="pwws", victim="toy", data="tiny", n=5)
    with Writer(tmp_path / "runs" / "one", run) as writer:
        for number in range(2):
            writer.add(Outcome(id=str(number), status="skipped", label=0, original=Side({"text": "a"}, 1)))
    lines = tmp_path / "runs" / "one" / "outcomes.jsonl"
    lines.write_text(lines.read_text() + '{"torn')
    RECORDS["certified"].write(tmp_path / "proofs")
    (tmp_path / "proofs" / "tuning.json").write_text("{}")
    (tmp_path / "study.toml").write_text('command = "study oneword"\n')
    code, out, _ = type_in(tmp_path, "--json")
    assert code == 0
    held = json.loads(out.splitlines()[-1])
    (one,) = held["runs"]
    assert (one["run"], one["done"], one["wanted"], one["left"]) == ("pwws on toy, tiny", 2, 5, 3)
    assert held["left"] == 3
    assert held["studies"] == [{"folder": str(tmp_path), "study": "study oneword"}]
    assert {r["kind"]: bool(r["fault"]) for r in held["records"]} == {"certified": False, "tuning": True}
    for text in ("study: study oneword", "2 outcomes", "3 examples are left", "is not a record of malaprop tune"):
        assert text in " ".join(out.split())


def write_study(folder, done: int, **more) -> None:
    """Write a study with one run of five texts, of which some are done."""
    with Writer(folder / "one", Run(recipe="pwws", victim="toy", data="tiny", n=5)) as writer:
        for number in range(done):
            writer.add(Outcome(id=str(number), status="skipped", label=0, original=Side({"text": "a"}, 1)))
    replace(Run.read(folder / "one"), **more).write(folder / "one")
    (folder / "study.toml").write_text('command = "audit"\n')


def test_the_study_that_has_examples_left_is_the_next(type_in, tmp_path):
    write_study(tmp_path / "whole", 5)
    write_study(tmp_path / "killed", 2)
    _, out, _ = type_in(tmp_path / "whole", tmp_path / "killed")
    assert out.splitlines()[-1] == f"next: malaprop run {tmp_path / 'killed' / 'study.toml'}"
    assert "3 examples are left; give the same command again, with the same --out" in out
    _, out, _ = type_in(tmp_path / "whole")
    assert out.splitlines()[-1] == f"next: malaprop report {tmp_path / 'whole'}"


def test_a_run_that_a_limit_ended_wants_a_higher_one(type_in, tmp_path):
    write_study(tmp_path / "cut", 2, state="budget", stopped="--max-queries 20")
    _, out, _ = type_in(tmp_path / "cut")
    file = tmp_path / "cut" / "study.toml"
    assert out.splitlines()[-1] == f"next: malaprop run {file} max_queries=NUMBER, with more than 20"
    said = " ".join(out.split())
    assert "3 examples are left; give the same command again, with a higher --max-queries and the same --out" in said


def test_nothing_is_said_to_be_nothing_and_no_folder_is_refused(type_in, tmp_path):
    assert "no studies, runs or records in" in type_in(tmp_path)[1]
    code, _, err = type_in(tmp_path / "nowhere")
    assert code == 2
    assert "no such folder" in err
