"""The report of a folder above others: every record and run below it, whatever its kind."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from every_kind import RECORDS
from sample_records import sample

from malaprop.cli.main import main
from malaprop.core.errors import RecordError
from malaprop.frame.records import Writer
from malaprop.frame.records.kinds import kind_of
from malaprop.frame.report.page import gather, render, sections, write_report
from malaprop.frame.rooms import load


def heading(record) -> str:
    return load(kind_of(type(record)).section).title


def write_run(folder):
    ((run, outcomes),) = sample(4, 1, 1)
    with Writer(folder, run) as writer:
        for outcome in outcomes:
            writer.add(outcome)


def test_a_folder_above_shows_every_kind_and_the_runs(tmp_path):
    for name, record in RECORDS.items():
        record.write(tmp_path / "all" / name)
    write_run(tmp_path / "all" / "run")
    page = write_report([tmp_path], tmp_path / "report.html").read_text()
    for record in RECORDS.values():
        assert heading(record) in page or "What the papers claim" in heading(record)
    for shown in ("Accuracy under attack", "1 claim at small size", ">U1<", "Defence test", "Certificates"):
        assert shown in page
    assert page.count("<script>") == 1


@pytest.mark.parametrize("name", RECORDS)
def test_each_kind_alone_makes_a_page_and_lines_for_a_terminal(name, tmp_path):
    record = RECORDS[name]
    record.write(tmp_path)
    page = write_report([tmp_path], tmp_path / "report.html").read_text()
    assert "<h2" in page
    assert f"<title>{heading(record)}" in page
    assert page.count("<script") == 1  # which saves figures and tables
    ((section, held),) = sections(gather([tmp_path])[1])
    assert section.terminal(held[0]).strip()


def test_sections_come_in_the_order_of_their_ranks_with_the_runs_among_them():
    page = render(sample(4, 1, 1), records=[RECORDS[name] for name in ("tuning", "claims", "certified", "transfer")])
    places = [page.index(text) for text in (">U1<", ">Transfer</h2>", ">Accuracy under attack</h2>", ">Certificates<")]
    assert places == sorted(places)
    assert page.index(">Certificates<") < page.index(">Search for settings<") < page.index(">Examples</h2>")


def test_the_command_prints_every_record(tmp_path, monkeypatch, capsys):
    for name in ("certified", "claims", "tuning"):
        RECORDS[name].write(tmp_path / name)
    write_run(tmp_path / "run")
    monkeypatch.setattr(sys, "argv", ["malaprop", "report", str(tmp_path), "--json"])
    with pytest.raises(SystemExit) as end:
        main()
    out = capsys.readouterr().out
    assert not end.value.code
    for text in ("certified, d = 1", "1 claim at small size", "plain, validation", "accuracy under attack"):
        assert text in out
    assert '"runs": 1' in out.splitlines()[-1]
    assert '"records": 3' in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--leaderboard", "board.md"), "--leaderboard needs defence tests"),
        (("--parquet", "full"), "full holds something already"),
        (("--export", "full", "--card", "card.md"), "full holds something already"),
    ],
)
def test_what_cannot_be_written_beside_the_report_is_said_before_it_is_written(
    words, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    monkeypatch.setattr(sys, "argv", ["malaprop", "report", "run", *words])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_folder_with_nothing_says_so(tmp_path):
    with pytest.raises(RecordError, match="no run and no record below"):
        gather([tmp_path])


def test_a_certificate_that_a_defence_test_holds_is_shown_there_alone(tmp_path):
    proof, test = RECORDS["certified"], RECORDS["defences"]
    (row,) = test.rows
    replace(test, rows=(replace(row, certified=proof),)).write(tmp_path)
    proof.write(tmp_path / "inside")
    page = write_report([tmp_path], tmp_path / "report.html").read_text()
    assert page.count("<h3>Certified accuracy</h3>") == 1


def test_what_is_broken_is_named_and_the_rest_is_shown(tmp_path, monkeypatch, capsys):
    RECORDS["certified"].write(tmp_path / "fine")
    RECORDS["tuning"].write(tmp_path / "<b>torn</b>").write_text('{"format": 1, "trials": 7}')
    write_run(tmp_path / "run")
    write_run(tmp_path / "damaged")
    (tmp_path / "damaged" / "run.toml").write_text("recipe = ")
    monkeypatch.setattr(sys, "argv", ["malaprop", "report", str(tmp_path), "--json"])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert not end.value.code, said.err
    lines = [line for line in said.err.splitlines() if line.startswith("malaprop: left out: ")]
    assert [("torn" in line, "run.toml" in line) for line in lines] == [(False, True), (True, False)]
    last = json.loads(said.out.splitlines()[-1])
    assert (last["runs"], last["records"], len(last["left_out"])) == (1, 1, 2)
    page = (tmp_path / "report.html").read_text()
    assert "Left out" in page
    assert "&lt;b&gt;torn" in page
    assert "<b>torn" not in page
    assert "is not a record of malaprop tune" in page


def test_where_nothing_else_is_there_what_is_broken_is_refused(tmp_path):
    RECORDS["tuning"].write(tmp_path).write_text("{}")
    with pytest.raises(RecordError, match="is not a record of malaprop tune"):
        gather([tmp_path])
