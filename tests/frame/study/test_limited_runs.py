"""Figures of runs that a spending limit has ended: clean accuracy over all texts, rates over attacks that ended."""

from __future__ import annotations

import pytest
import toy

from malaprop.core.codec import encode
from malaprop.features.audit.attack import AttackRun
from malaprop.features.audit.check import Check
from malaprop.features.audit.study import Audit
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.run import Run
from malaprop.frame.records.summary import Rate
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.models.victims.strings import StringVictim

SETTINGS = {"victim": "toy:predict", "data": "rows.csv", "n": 0, "device": "cpu", "quiet": True, "validity": "paper"}


def audit(**more):
    return conduct(build(Audit, {**SETTINGS, "attacks": "keyboard,homoglyph", **more}))


def keys(found):
    return {name: {compare_key(o) for o in outcomes} for name, outcomes in found.runs.items()}


@pytest.fixture(autouse=True)
def whole(tmp_path, monkeypatch):
    """An audit without a limit, of a hundred texts of which the toy victim is right on every second."""
    monkeypatch.chdir(tmp_path)
    rows = enumerate(toy.some_examples(100))
    lines = "".join(f'"{row.fields["text"]}",{row.label if n % 2 else 1 - row.label}\n' for n, row in rows)
    (tmp_path / "rows.csv").write_text(f"text,label\n{lines}")
    return audit(out="whole")


def test_clean_accuracy_is_over_all_texts_though_a_limit_ends_the_attacks(whole, tmp_path):
    truth = whole.record.runs[0].summary.clean
    found = audit(out="part", max_queries=600)
    for run in found.record.runs:
        assert run.summary.clean == truth
        assert 0 < run.summary.success.total < 20
        assert run.to_dict()["success"]["value"] is None
        assert run.to_dict()["accuracy_under_attack"]["value"] is None
        assert "stopped by --max-queries 600 after" in run.to_dict()["stopped"]
    k = min(sum(run.summary.counts.values()) for run in found.record.runs)
    said = f"topped by --max-queries 600 after {k} of 100 texts"
    assert said in " ".join(found.text.split())
    assert said in (tmp_path / "part/report.html").read_text()
    assert said in found.record.to_dict()["stopped"]
    assert "victim's order" not in " ".join(found.view.notes)
    run = Run.read(tmp_path / "part/toy-predict/keyboard")
    assert (run.state, run.stopped, run.clean) == ("budget", "--max-queries 600", (truth.hits, truth.total))
    assert Run.read(tmp_path / "whole/toy-predict/keyboard").state == "done"


def test_what_a_limit_pays_for_are_attacks_that_end(whole):
    found = audit(out="part", max_queries=2000)
    ended = sum(outcome.queries.forwarded for outcome in found.outcomes)
    assert found.spent.queries > 1900
    assert ended > 0.9 * (found.spent.queries - 100)
    assert sum(run.summary.success.unfinished for run in found.record.runs) <= 2


def test_a_limited_run_ends_the_same_texts_at_any_width(whole):
    found = [keys(audit(out=f"width{width}", max_queries=1500, width=width)) for width in (1, 8, 64)]
    assert found[0] == found[1] == found[2]
    assert all(0 < len(outcomes) < 100 and outcomes <= keys(whole)[name] for name, outcomes in found[0].items())


@pytest.mark.parametrize("more", [{}, {"jobs": 2}])
def test_a_limit_that_is_not_reached_changes_no_outcome_and_costs_no_query_more(whole, more):
    found = audit(out="enough", max_queries=1_000_000, **more)
    assert found.state == "done"
    assert keys(found) == keys(whole)
    assert found.spent.queries <= sum(outcome.queries.forwarded for outcome in whole.outcomes)
    assert not any(run.summary.stopped for run in found.record.runs)


def test_texts_as_they_stand_take_at_most_half_of_the_queries_and_are_asked_once(whole):
    calls = toy.Calls()
    victim = StringVictim(call=calls, name="toy")
    found = audit(victim=(victim,), out="few", max_queries=80)
    assert found.record.runs[0].summary.clean.total == 40
    before = len(calls.texts)
    assert before <= 80
    again = audit(victim=(victim,), out="few", max_queries=800, resume=True)
    assert again.record.runs[0].summary.clean.total == 100
    originals = {outcome.original.text for outcome in whole.outcomes}
    assert sum(text in originals for text in calls.texts[before:]) <= 60


def test_an_attack_says_so_too(whole):
    found = conduct(build(AttackRun, {**SETTINGS, "recipe": "keyboard", "out": "one", "max_queries": 300}))
    assert found.record.summary.clean == whole.record.runs[0].summary.clean
    assert "stopped by --max-queries 300 after" in found.record.to_dict()["stopped"]


def test_a_check_has_clean_accuracy_over_all_texts_and_no_rate_of_few(whole):
    given = {"attacks": "keyboard", "out": "gate", "max_queries": 300, "min": {"accuracy-under-attack": 0.1}}
    record = conduct(build(Check, {**SETTINGS, **given})).record
    clean, attacked = record.rows
    assert clean.now == whole.record.runs[0].summary.clean
    assert not attacked.now.shown
    assert not record.passed
    assert not record.complete


def test_the_interval_of_a_part_reaches_over_all_that_the_rest_may_come_to():
    plain, part = Rate(30, 60), Rate(30, 60, unfinished=10)
    assert part.value == plain.value
    assert part.interval == (Rate(30, 70).interval[0], Rate(40, 70).interval[1])
    assert part.interval[0] < plain.interval[0] < plain.interval[1] < part.interval[1]
    assert str(Rate(3, 7, too_few=True)) == "- (3/7)"
    assert encode(plain) == {"hits": 30, "total": 60, "units": None}  # as in records of other runs


def test_a_run_says_how_many_rows_were_drawn_of_how_many(tmp_path):
    found = audit(out="some", n=30, attacks="keyboard")
    assert "rows.csv: 30 of 100 rows, drawn by seed 0" in " ".join(found.text.split())
    assert "30 of 100 rows, drawn by seed 0" in (tmp_path / "some/report.html").read_text()
    assert found.record.runs[0].to_dict()["drawn_from"] == 100
    assert found.to_dicts() == found.rows
    assert len(found.outcomes.to_dicts()) == 30


def test_a_note_on_the_victim_is_said_once_whatever_attacks_it_meets():
    said = []
    study = build(
        Audit, {**SETTINGS, "victim": (lambda texts: [[2, 3]] * len(texts),), "attacks": "keyboard,homoglyph"}
    )
    conduct(study, listen=[said.append])
    assert sum("do not sum to one" in getattr(one, "text", "") for one in said) == 1
