"""Answers reach the disk: one commit for many, fifty people side by side, and a server that is killed."""

from __future__ import annotations

import sqlite3
from concurrent.futures import wait

import pytest
import rating_load
from tiny_study import item, write_study

from malaprop.core.errors import RecordError
from malaprop.features.humans.study import AnswerWriter, GivenAnswer


@pytest.fixture
def study(tmp_path):
    items = [item("label", (0,), source=f"s{n}") for n in range(40)]
    return write_study(tmp_path / "s.db", items, {f"r{n}": [] for n in range(5)})


def stored(path):
    base = sqlite3.connect(path)
    found = base.execute("SELECT rater, item, value FROM answers ORDER BY 1, 2").fetchall()
    base.close()
    return found


def test_those_who_wait_share_a_commit(study):
    writer = AnswerWriter(study)
    commits = 0
    real = writer._commit

    def counted(batch):
        nonlocal commits
        commits += 1
        real(batch)

    writer._commit = counted
    promises = [writer.put(GivenAnswer(rater, number, "1")) for rater in range(1, 6) for number in range(1, 41)]
    wait(promises, 30)
    assert {p.result() for p in promises} == {"saved"}
    assert len(stored(study)) == 200
    assert commits < 50
    writer.close()


def test_a_promise_kept_is_in_the_file_before_anyone_closes_it(study):
    writer = AnswerWriter(study)
    assert writer.put(GivenAnswer(1, 1, "1")).result(10) == "saved"
    assert stored(study) == [(1, 1, "1")]
    assert writer.put(GivenAnswer(1, 1, "1")).result(10) == "same"
    assert writer.put(GivenAnswer(1, 1, "0")).result(10) == "taken"
    assert writer.put(GivenAnswer(1, 1, "0", change=True)).result(10) == "saved"
    assert stored(study) == [(1, 1, "0")]
    writer.close()


def test_who_leaves_before_the_promise_is_kept_stops_nobody(study):
    writer = AnswerWriter(study)
    left = writer.put(GivenAnswer(1, 1, "1"))
    assert not left.cancel()
    assert writer.put(GivenAnswer(1, 2, "1")).result(10) == "saved"
    assert left.result(10) == "saved"
    writer.close()


def test_what_cannot_be_written_is_told_to_who_waits_and_the_rest_goes_on(study, monkeypatch):
    monkeypatch.setattr("malaprop.features.humans.study.WAIT", 0.1)
    writer = AnswerWriter(study)
    other = sqlite3.connect(study, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(RecordError, match="locked"):
        writer.put(GivenAnswer(1, 1, "1")).result(10)
    other.execute("ROLLBACK")
    other.close()
    assert writer.put(GivenAnswer(1, 1, "1")).result(10) == "saved"
    writer.close()


def test_a_read_only_study_is_refused(study, monkeypatch):
    base = sqlite3.connect(f"{study.as_uri()}?mode=ro", uri=True, isolation_level=None)
    monkeypatch.setattr("malaprop.features.humans.study.connect", lambda path, write: base)
    with pytest.raises(RecordError, match=r"cannot be written.*copy"):
        AnswerWriter(study)


def test_a_few_people_and_one_kill(tmp_path, monkeypatch):
    monkeypatch.setattr(rating_load, "RATERS", 6)
    tally = rating_load.load(tmp_path, seconds=4, think=0.05, kills=1, items=80)
    assert len(tally.confirmed) > 20
    assert tally.broken


@pytest.mark.slow
@pytest.mark.parametrize("kills", [0, 10])
def test_fifty_people_two_minutes(tmp_path, kills):
    """Two seconds of thought an answer on average; nothing confirmed is lost or doubled, 95% are confirmed in 50 ms.

    With kills, the 50 ms are of answers to a server that is up: nobody answers while it starts again.
    """
    tally = rating_load.load(tmp_path, seconds=120, think=2.0, kills=kills)
    print(rating_load.told(tally))
    assert bool(tally.broken) == bool(kills)
    assert len(tally.confirmed) > 1000
    assert tally.share(tally.seconds, 0.95) < 0.05


@pytest.mark.slow
def test_fifty_people_who_never_think(tmp_path):
    """As fast as two processes can: no bound on the time, but nothing is lost or doubled."""
    tally = rating_load.load(tmp_path, seconds=30, think=0.0, kills=0)
    print(rating_load.told(tally))
    assert len(tally.confirmed) > 1000
