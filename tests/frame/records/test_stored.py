"""Outcomes that are read as they are wanted are those that are held."""

from __future__ import annotations

import pytest
import toy

from malaprop.data.base import of
from malaprop.frame.records import store
from malaprop.frame.records.store import Stored, outcomes_of, read_outcomes
from malaprop.frame.records.summary import Totals
from malaprop.frame.report.page import render
from malaprop.frame.runs.folder import run_to_folder
from malaprop.records import Run, Summary


@pytest.fixture
def folder(tmp_path):
    run_to_folder(toy.listed(), toy.victim(), of(toy.some_examples(40)), tmp_path)
    return tmp_path


def test_a_sequence_that_holds_nothing(folder):
    held, stored = read_outcomes(folder), Stored(folder)
    assert list(stored) == list(stored) == held
    assert (len(stored), stored[0], stored[-1], stored[3:5]) == (40, held[0], held[-1], held[3:5])
    with pytest.raises(IndexError):
        stored[40]


def test_very_many_are_not_held_and_the_report_is_the_same(folder, monkeypatch):
    assert isinstance(outcomes_of(folder), list)
    monkeypatch.setattr(store, "LARGE", 0)
    assert isinstance(outcomes_of(folder), Stored)
    run = Run.read(folder)
    for limit in (500, 4_500_000):
        assert render([(run, outcomes_of(folder))], limit=limit) == render([(run, read_outcomes(folder))], limit=limit)


def test_totals_count_as_they_go(folder):
    held, totals = read_outcomes(folder), Totals()
    for at, outcome in enumerate(held, 1):
        totals.add(outcome)
        assert sum(totals.summary().counts.values()) == at
    assert totals.summary() == Summary.of(held)
