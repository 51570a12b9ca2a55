"""Scores of small studies, every figure worked out by hand."""

from __future__ import annotations

import json

import pytest
from tiny_study import item, write_study

from malaprop.core.errors import RecordError, SettingError
from malaprop.features.humans.items import ORIGINAL
from malaprop.features.humans.record import HumansRecord, terminal
from malaprop.features.humans.score import score
from malaprop.features.humans.study import RatingStudy
from malaprop.frame.records import Rate
from malaprop.frame.records.kinds import find


def scored(path, items, answers, **settings):
    with RatingStudy(write_study(path, items, answers)) as study:
        return score(study, **settings)


def test_relative_readability_as_the_paper_defines_it(tmp_path):
    """100 raters find A more readable and 40 B: the scores are 1 and 0.4 (section 3.6). Here 10 and 4."""
    items = [item("readability", (0, 1), source=f"s{n}") for n in range(2)]
    answers = {f"r{n}": ["a" if n < 5 else "b"] * 2 for n in range(7)}
    contest = scored(tmp_path / "s.db", items, answers).readability
    assert [(c.name, c.votes.hits, c.votes.total, c.relative) for c in contest.systems] == [
        ("one", 10, 14, 1.0),
        ("two", 4, 14, pytest.approx(0.4)),
    ]
    (duel,) = contest.duels
    assert (duel.ahead_a, duel.ahead_b, duel.ties, duel.p) == (2, 0, 0, 0.5)


def test_human_accuracy_drop_and_validity(tmp_path):
    """Four originals and four texts of system one, true label 1 throughout; three raters."""
    items = [item("label", (ORIGINAL,), source=f"o{n}") for n in range(4)]
    items += [item("label", (0,), source=f"x{n}") for n in range(4)]
    answers = {  # originals, then changed texts
        "anna": ["1", "1", "1", "1", "1", "1", "0", "0"],
        "ben": ["1", "1", "1", "0", "1", "0", "0", "1"],
        "cleo": ["1", "1", "1", "1", "1", "1", "0", "0"],
    }
    scores = scored(tmp_path / "s.db", items, answers)
    clean, one = scores.accuracy
    assert (clean.name, clean.answers) == ("original", Rate(11, 12, units=4))
    assert (one.name, one.answers) == ("one", Rate(6, 12, units=4))
    assert (clean.majority, one.majority) == (Rate(4, 4), Rate(2, 4))
    assert (clean.median, one.median, one.median_drop) == (1.0, 0.5, 0.5)
    assert clean.drop is None
    assert one.drop.value == pytest.approx(5 / 12)
    assert one.drop.low < 5 / 12 < one.drop.high
    (validity,) = scores.validity
    assert (validity.success, validity.kept) == (Rate(8, 10), Rate(2, 4))
    assert validity.adjusted.value == pytest.approx(0.8 * 0.5)
    # Pairs of equal answers: units 1 1 1 / 1 1 1 / 1 1 1 / 1 0 1 / 1 1 1 / 1 0 1 / 0 0 0 / 0 1 0; 17 ones, 7 noughts.
    (agreed,) = scores.agreement
    assert agreed.alpha == pytest.approx(1 - (3 * 2 * 2 / 2) / (2 * 17 * 7 / 23))
    assert (agreed.level, agreed.items, agreed.answers) == ("nominal", 8, 24)


def test_a_tie_does_not_keep_the_label(tmp_path):
    scores = scored(tmp_path / "s.db", [item("label", (0,))], {"anna": ["1"], "ben": ["0"]})
    assert scores.accuracy[0].answers == Rate(1, 2, units=1)
    assert scores.validity[0].kept == Rate(0, 1)


def test_naturalness_shares_means_and_signs(tmp_path):
    """Three sources, as they were and as system two left them: lower twice, equal once."""
    items = [item("naturalness", (s,), source=f"s{n}") for n in range(3) for s in (ORIGINAL, 1)]
    answers = {"anna": ["5", "2", "4", "4", "5", "1"], "ben": ["4", "3", "4", "4", "3", "1"]}
    ratings = scored(tmp_path / "s.db", items, answers).naturalness
    assert [(r.name, r.high, r.mean) for r in ratings.systems] == [
        ("original", Rate(5, 6, units=3), pytest.approx(25 / 6)),
        ("two", Rate(2, 6, units=3), pytest.approx(15 / 6)),
    ]
    (duel,) = ratings.duels
    assert (duel.a, duel.b, duel.ahead_a, duel.ahead_b, duel.ties, duel.p) == ("original", "two", 2, 0, 1, 0.5)


def test_closer_is_counted_like_readable(tmp_path):
    items = [item("similarity", (0, 1), source=f"s{n}") for n in range(5)]
    contest = scored(tmp_path / "s.db", items, {"anna": ["b", "b", "b", "b", "a"]}).similarity
    assert [(c.votes.hits, c.relative) for c in contest.systems] == [(1, 0.25), (4, 1.0)]
    assert contest.duels[0].p == pytest.approx(2 * 6 / 32)


CHECKS = [item("label", (), expected="1"), item("label", (), expected="0"), item("label", (0,), source="x")]


def test_raters_who_fail_the_checks_are_left_out_and_counted(tmp_path):
    answers = {"anna": ["1", "0", "1"], "ben": ["0", "0", "0"], "cleo": [None, None, "0"]}
    scores = scored(tmp_path / "s.db", CHECKS, answers)
    assert [(r.rater, r.right, r.checks) for r in scores.left_out] == [("ben", 1, 2)]
    assert (scores.invited, scores.answered, scores.counted, scores.expected) == (3, 3, 2, 3)
    assert scores.accuracy[0].answers == Rate(1, 2, units=1)
    lenient = scored(tmp_path / "2.db", CHECKS, answers, pass_mark=0.5)
    assert lenient.accuracy[0].answers == Rate(1, 3, units=1)


def test_if_everyone_failed_nothing_is_claimed(tmp_path):
    scores = scored(tmp_path / "s.db", CHECKS, {"anna": ["0", "1", "1"]})
    assert (scores.counted, scores.accuracy, scores.validity, scores.agreement) == (0, (), (), ())
    assert "0 of 1 answers by 0 raters" in terminal(scores)


def test_no_answers_and_wrong_marks_are_told(tmp_path):
    with pytest.raises(RecordError, match="no answers yet"):
        scored(tmp_path / "s.db", CHECKS, {"anna": [None, None, None]})
    with pytest.raises(SettingError, match="from 0 to 1"):
        scored(tmp_path / "2.db", CHECKS, {"anna": ["1", "0", "1"]}, pass_mark=2)


def test_the_record_comes_back_as_it_was_written(tmp_path):
    items = [*CHECKS, item("readability", (0, 1)), item("naturalness", (ORIGINAL,)), item("meaning", (1,))]
    scores = scored(tmp_path / "s.db", items, {"anna": ["1", "0", "1", "a", "3", "5"]})
    path = scores.write(tmp_path / "out")
    again = HumansRecord.read(path.parent)
    assert again.write(tmp_path / "more").read_text() == path.read_text()
    assert again.accuracy == scores.accuracy
    assert [found.folder for found in find([tmp_path])] == [tmp_path / "more", path.parent]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda plain: plain.pop("accuracy"), "missing required field `accuracy`"),
        (lambda plain: plain.update(counted="many"), "counted: expected `int`, got `str`"),
        (lambda plain: plain.update(format=7), "not a record of human scores .format 7, written by a newer malaprop"),
        (lambda plain: plain["accuracy"].append(7), r"accuracy\[\d\]: expected `object`, got `int`"),
    ],
)
def test_a_broken_record_is_told(tmp_path, change, told):
    path = scored(tmp_path / "s.db", CHECKS, {"anna": ["1", "0", "1"]}).write(tmp_path)
    plain = json.loads(path.read_text())
    change(plain)
    path.write_text(json.dumps(plain))
    with pytest.raises(RecordError, match=told):
        HumansRecord.read(tmp_path)


def test_the_terminal_shows_every_table(tmp_path):
    items = [item("label", (ORIGINAL,)), item("label", (0,), source="x"), item("readability", (0, 1)),
             item("naturalness", (0,)), item("similarity", (0, 1)), item("meaning", (1,))]  # fmt: skip
    shown = terminal(scored(tmp_path / "s.db", items, {"anna": ["1", "0", "a", "4", "b", "2"]}))
    for title in (
        "Human accuracy",
        "Success that counts",
        "Easier to read",
        "Closer to",
        "Looks natural",
        "Keeps the meaning",
    ):
        assert title in shown
    assert "How far people agree" in shown
