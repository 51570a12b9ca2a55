"""Two reports side by side: the same texts before and after, and what has no partner."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from malaprop.cli.main import app
from malaprop.core.errors import RecordError
from malaprop.frame.records import Outcome, Run, Side, Writer
from malaprop.frame.report.comparison import compare_runs

RUN = Run(recipe="pwws", victim="plain", data="mr", n=4, labels=("neg", "pos"), started="")


def one(id: str, status: str, text: str = "a fine film") -> Outcome:
    changed = Side({"text": text.replace("fine", "<b>okay</b>")}, 0) if status in ("success", "failed") else None
    first = Side({"text": text}, 0 if status == "skipped" else 1)
    return Outcome(id=id, status=status, label=1, original=first, adversarial=changed)


BEFORE = [one("a", "success"), one("b", "success"), one("c", "failed"), one("d", "skipped"), one("e", "error")]
NOW = [one("a", "failed"), one("b", "success"), one("c", "success"), one("d", "failed"), one("e", "failed")]


def test_texts_are_paired_and_each_change_is_counted_on_its_side():
    found = compare_runs([(RUN, BEFORE)], [(replace(RUN, victim="hardened"), NOW)])
    rows = {row["attack"]: row for row in found.to_rows()}
    assert rows["pwws"] == {
        "victim": "hardened", "attack": "pwws", "texts": 4, "held_before": 1, "held_now": 2, "newly_hold": 2,
        "newly_break": 1, "p": 1.0,
    }  # fmt: skip
    assert (rows["no attack"]["held_before"], rows["no attack"]["held_now"]) == (3, 4)
    page = found.body()
    assert "hardened, pwws: 2 newly hold" in page
    assert "<ins>&lt;b&gt;okay&lt;/b&gt;</ins>" in page
    assert "wrong without an attack" in page


def test_the_chance_is_that_of_both_sides():
    many = [one(f"x{i}", "success") for i in range(10)]
    found = compare_runs([(RUN, many)], [(RUN, [replace(o, status="failed") for o in many])])
    assert found.rows[1].won == 10
    assert found.to_rows()[1]["p"] == pytest.approx(2 / 2**10)


def test_what_has_no_partner_is_named_and_nothing_in_common_is_refused():
    other = replace(RUN, recipe="typos")
    found = compare_runs([(RUN, BEFORE), (other, BEFORE)], [(RUN, NOW)])
    assert found.alone == ["plain, typos: only before"]
    with pytest.raises(RecordError, match="no such run before"):
        compare_runs([(other, BEFORE)], [(RUN, NOW)])
    with pytest.raises(RecordError, match="no text in common"):
        compare_runs([(RUN, BEFORE)], [(RUN, [replace(o, original=Side({"text": "another"}, 1)) for o in NOW])])


def test_where_a_side_has_several_victims_each_is_paired_with_its_like():
    two = [(replace(RUN, victim=name), BEFORE) for name in ("A", "B")]
    found = compare_runs(two, [(replace(RUN, victim="B"), NOW)])
    assert [pair.before.victim for pair in found.pairs] == ["B"]
    assert found.alone == ["A, pwws: only before"]


def test_the_command_writes_a_page_and_says_the_figures(tmp_path):
    for name, outcomes in (("old", BEFORE), ("new", NOW)):
        with Writer(tmp_path / name, RUN) as writer:
            for outcome in outcomes:
                writer.add(outcome)
    done = CliRunner().invoke(app, ["report", str(tmp_path / "new"), "--against", str(tmp_path / "old"), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["report"] == str(tmp_path / "new" / "comparison.html")
    assert [row["newly_hold"] for row in said["compared"]] == [1, 2]
    assert "Newly" in done.stdout
    assert '<h2 id="comparison">Before and now</h2>' in (tmp_path / "new" / "comparison.html").read_text()
