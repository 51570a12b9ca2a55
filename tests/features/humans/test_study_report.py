"""The report section of a human evaluation."""

from __future__ import annotations

import re

import pytest
from tiny_study import item, two_runs, write_study

from malaprop.features.humans.items import ORIGINAL
from malaprop.features.humans.score import score
from malaprop.features.humans.study import RatingStudy
from malaprop.frame.report.page import write_report

ITEMS = [
    item("label", (), expected="1"),
    item("label", (ORIGINAL,), source="o"),
    item("label", (0,), source="x"),
    item("readability", (0, 1)),
    item("naturalness", (0,)),
    item("similarity", (0, 1)),
    item("meaning", (1,)),
]


@pytest.fixture
def runs(tmp_path):
    return two_runs(tmp_path / "runs")


def write_scores(folder, tmp_path):
    answers = {"anna": ["1", "1", "0", "a", "4", "b", "2"], "<b>ben": ["0", "1", "0", "a", "4", "b", "2"]}
    with RatingStudy(write_study(tmp_path / "s.db", ITEMS, answers)) as study:
        return score(study).write(folder)


def test_the_scores_join_the_report(runs, tmp_path):
    before = write_report([runs], tmp_path / "before.html").read_text()
    assert "Human evaluation" not in before
    write_scores(runs, tmp_path)
    page = write_report([runs], tmp_path / "after.html").read_text()
    for title in ("Human accuracy", "Success that counts", "Easier to read", "Closer to", "Looks natural", "Keeps the"):
        assert title in page
    assert "6 of 12 answers count, by 1 of 2 people" in page
    assert "&lt;b&gt;ben (0 of 1 checks right)" in page
    assert "<b>ben" not in page
    assert len(re.findall('<svg role="img" class="figure bars"', page)) >= 6


def test_a_broken_record_is_told(runs, tmp_path):
    write_scores(runs, tmp_path).write_text("{}")
    assert "not a record of human scores" in write_report([runs], tmp_path / "report.html").read_text()
