"""From runs to a study: balance, blindness, order, checks, and what is refused."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_study import SYNONYM, TEXTS, TYPO, item, two_runs, write_run

from malaprop.core.errors import RecordError, SettingError
from malaprop.features.humans.export import Design, export
from malaprop.features.humans.items import ORIGINAL, assign, count_raters
from malaprop.features.humans.questions import QUESTIONS
from malaprop.features.humans.sources import LONGEST
from malaprop.features.humans.study import RatingStudy

ALL = ("readability", "label", "similarity", "naturalness", "meaning")


@pytest.fixture
def runs(tmp_path):
    return two_runs(tmp_path / "runs")


def made(runs, tmp_path, name="study.db", **settings):
    path = tmp_path / name
    export([runs], path, Design(**{"ask": ALL, "items": 6, "seed": 1, **settings}))
    with RatingStudy(path) as study:
        return study


def judged(study, question):
    return [i for i in study.items.values() if i.question == question and i.expected is None]


def test_items_are_balanced_over_systems_and_controls(runs, tmp_path):
    study = made(runs, tmp_path)
    for question in ("label", "naturalness"):
        assert Counter(i.systems for i in judged(study, question)) == {(0,): 2, (1,): 2, (ORIGINAL,): 2}
    assert Counter(i.systems for i in judged(study, "meaning")) == {(0,): 3, (1,): 3}
    for question in ("readability", "similarity"):
        assert [i.systems for i in judged(study, question)] == [(0, 1)] * 6
        assert all(i.texts[0] != i.texts[1] for i in judged(study, question))


def test_a_label_is_asked_once_a_source_and_naturalness_of_the_same_sources(runs, tmp_path):
    study = made(runs, tmp_path)
    assert len({i.source for i in judged(study, "label")}) == 6
    assert len({i.source for i in judged(study, "naturalness")}) == 2


def test_a_weak_recipe_gets_what_it_has(tmp_path):
    runs = tmp_path / "runs"
    write_run(runs / "synonym", "synonym", SYNONYM)
    write_run(runs / "typo", "typo", TYPO, texts=TEXTS[:1])
    study = made(runs, tmp_path, ask=("label",), items=9)
    assert Counter(i.systems[0] for i in judged(study, "label")) == {0: 4, 1: 1, ORIGINAL: 4}


def test_the_same_seed_gives_the_same_study_but_for_the_secrets(runs, tmp_path):
    first, second, other = (made(runs, tmp_path, f"{n}.db", seed=s) for n, s in enumerate((5, 5, 6)))
    assert (first.items, first.turns) == (second.items, second.turns)
    assert first.items != other.items
    assert first.facts.admin != second.facts.admin


def test_each_rater_has_an_order_and_sides_of_their_own(runs, tmp_path):
    study = made(runs, tmp_path)
    orders = [tuple(t.item for t in turns) for turns in study.turns.values()]
    assert len(set(orders)) == 3
    assert len({frozenset(order) for order in orders}) == 1, "everyone judges all where nothing is shared out"
    for turns in study.turns.values():
        asked = [study.items[t.item].question for t in turns]
        assert list(dict.fromkeys(asked)) == [q for q in QUESTIONS if q in ALL], "what shows an original comes last"
        flips = Counter(t.flip for t in turns if len(study.items[t.item].texts) == 2)
        assert abs(flips[True] - flips[False]) <= 2
        assert not any(t.flip for t in turns if len(study.items[t.item].texts) == 1)
        assert study.items[turns[0].item].expected is None


@pytest.mark.parametrize(("raters", "most"), [(2, 7), (3, 10), (1, 4)])
def test_work_is_shared_out(runs, tmp_path, raters, most):
    study = made(runs, tmp_path, raters=raters, per_rater=most, checks=1)
    seen = Counter(t.item for turns in study.turns.values() for t in turns)
    assert {seen[n] for n, item in study.items.items() if item.expected is None} == {raters}
    for turns in study.turns.values():
        own = [study.items[t.item] for t in turns]
        assert sum(i.expected is None for i in own) <= most
        assert sum(i.expected is not None for i in own) == len(ALL)


@given(st.integers(1, 30), st.integers(1, 5), st.integers(0, 4), st.integers(1, 12), st.integers(0, 99))
def test_every_item_finds_its_raters(many, each, checks, most, seed):
    items = [item("label" if n % 2 else "readability", (0, 1), source=str(n)) for n in range(many)]
    items = sorted(items, key=lambda i: i.question) + [item("label", (), expected="1") for _ in range(checks)]
    raters = count_raters(many, each, most)
    lists = assign(items, each, raters, seed)
    seen = Counter(turn.item for turns in lists for turn in turns)
    assert seen == {n: raters if items[n].expected else each for n in range(len(items))}
    sizes = [sum(items[t.item].expected is None for t in turns) for turns in lists]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= most or raters == each
    assert all(len({t.item for t in turns}) == len(turns) for turns in lists)


def test_checks_say_their_answer_or_tear_a_text(runs, tmp_path):
    study = made(runs, tmp_path, checks=3)
    checks = [i for i in study.items.values() if i.expected is not None]
    assert Counter(i.question for i in checks) == dict.fromkeys(ALL, 3)
    for check in checks:
        shape = QUESTIONS[check.question].shape
        if shape == "pair":
            whole, torn = (t["text"] for t in check.texts)
            assert whole in TEXTS
            assert check.expected == "a"
            assert sorted(torn) == sorted(whole)
            assert torn != whole
        else:
            wanted = study.facts.labels[int(check.expected)] if shape == "label" else check.expected
            assert f"“{wanted}”" in check.texts[0]["text"]


def test_numbers_do_not_tell_the_recipe(runs, tmp_path):
    study = made(runs, tmp_path, ask=("label",), items=12, checks=0)
    by_number = [study.items[n].systems[0] for n in sorted(study.items)]
    assert by_number != sorted(by_number)
    assert by_number != sorted(by_number, reverse=True)


def test_systems_are_named_by_what_differs(tmp_path):
    for victim in ("A", "B"):
        write_run(tmp_path / "runs" / victim, "typo", TYPO if victim == "A" else SYNONYM, victim=victim)
    study = made(tmp_path / "runs", tmp_path)
    assert [s.name for s in study.facts.systems] == ["A", "B"]
    write_run(tmp_path / "runs" / "C", "synonym", SYNONYM, victim="A")
    assert {s.name for s in made(tmp_path / "runs", tmp_path, "2.db").facts.systems} == {
        "typo, A",
        "typo, B",
        "synonym, A",
    }


def test_without_ask_one_recipe_gets_what_fits(tmp_path):
    write_run(tmp_path / "runs", "typo", TYPO)
    assert made(tmp_path / "runs", tmp_path, ask=None).facts.ask == ("label", "naturalness")


def refused(match, error=RecordError):
    return pytest.raises(error, match=match)


def test_what_cannot_be_a_study_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with refused("no run below"):
        export([tmp_path / "empty"], tmp_path / "x.db", Design())
    write_run(tmp_path / "none", "typo", TYPO, texts=())
    with refused("hold no outcome"):
        export([tmp_path / "none"], tmp_path / "x.db", Design())
    write_run(tmp_path / "failed", "typo", TYPO, status="failed")
    with refused("nothing to judge"):
        export([tmp_path / "failed"], tmp_path / "x.db", Design())
    write_run(tmp_path / "long", "typo", TYPO, texts=["good " * LONGEST])
    with refused("too long to judge"):
        export([tmp_path / "long"], tmp_path / "x.db", Design())
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize("question", ["readability", "similarity"])
def test_one_recipe_cannot_be_compared(tmp_path, question):
    write_run(tmp_path / "runs", "typo", TYPO)
    with refused(f"{question} compares texts of two recipes or victims, but these runs hold only one", SettingError):
        export([tmp_path / "runs"], tmp_path / "x.db", Design(ask=(question,)))


def test_two_recipes_without_a_common_text_cannot_be_compared(tmp_path):
    write_run(tmp_path / "runs" / "a", "typo", TYPO, texts=TEXTS[:4])
    write_run(tmp_path / "runs" / "b", "synonym", SYNONYM, texts=TEXTS[4:8])
    with refused("no two of these runs succeeded on the same text", SettingError):
        export([tmp_path / "runs"], tmp_path / "x.db", Design(ask=("readability",)))


def test_runs_of_different_labels_cannot_be_asked_for_one(tmp_path):
    write_run(tmp_path / "runs" / "a", "typo", TYPO)
    write_run(tmp_path / "runs" / "b", "synonym", SYNONYM, labels=("sad", "glad"))
    with refused("same two or more labels", SettingError):
        export([tmp_path / "runs"], tmp_path / "x.db", Design(ask=("label",)))


def test_wrong_questions_and_numbers_are_refused(runs, tmp_path):
    with refused("readability", SettingError):
        export([runs], tmp_path / "x.db", Design(ask=("readabilty",)))
    with refused("no question", SettingError):
        export([runs], tmp_path / "x.db", Design(ask=()))
    with refused("at least 1", SettingError):
        Design(raters=0)


def test_a_study_is_never_overwritten(runs, tmp_path):
    made(runs, tmp_path)
    with refused("exists already"):
        made(runs, tmp_path)


def test_what_is_no_study_is_told_from_one(tmp_path):
    (tmp_path / "text.db").write_text("hello, I am a text and no database at all, however long I grow " * 20)
    with refused("is not a study"):
        RatingStudy(tmp_path / "text.db")
    base = sqlite3.connect(tmp_path / "other.db")
    base.execute("CREATE TABLE t (x)")
    base.commit()
    base.close()
    with refused("is not a study"):
        RatingStudy(tmp_path / "other.db")
    with refused("no such study"):
        RatingStudy(tmp_path / "missing.db")


def test_a_study_of_a_later_version_is_refused(runs, tmp_path):
    made(runs, tmp_path)
    base = sqlite3.connect(tmp_path / "study.db")
    base.execute("PRAGMA user_version=99")
    base.commit()
    base.close()
    with refused("later Malaprop"):
        RatingStudy(tmp_path / "study.db")


def test_pairs_of_fields_are_kept(tmp_path):
    from malaprop.frame.records import Outcome, Run, Side, Writer

    with Writer(tmp_path / "runs", Run(recipe="typo", victim="toy", data="nli", n=1, labels=("no", "yes"))) as writer:
        before, after = {"premise": "a man eats", "hypothesis": "he eats"}, {"premise": "a man eats", "hypothesis": "h"}
        writer.add(Outcome(id="1", status="success", label=1, original=Side(before, 1), adversarial=Side(after, 0)))
    study = made(tmp_path / "runs", tmp_path, ask=("meaning",), checks=0)
    (item,) = study.items.values()
    assert (item.original, item.texts) == (before, (after,))
    assert json.dumps(item.texts[0]) == json.dumps(after), "fields keep their order"
