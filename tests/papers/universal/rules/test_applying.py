"""Rules put to texts, by the command's road and by the recipe's."""

from __future__ import annotations

import pytest
import toy
from hypothesis import given
from hypothesis import strategies as st

from malaprop.attacks.recipes.rules import packaged_rules
from malaprop.attacks.recipes.rules import rules as recipe
from malaprop.attacks.rule_files import Rule, Rules, write_rules
from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example
from malaprop.data.base import load
from malaprop.papers.universal.rules.apply import apply_rules, write_applied

NAMES = ("neg", "pos")
RULES = Rules(
    [
        Rule(label="pos", number=1, word="good", to="okay", salience=1.75),
        Rule(label="pos", number=1, word="great", to="poor", salience=4.0),
        Rule(label="pos", number=1, word="film", to="movie", salience=0.5),
        Rule(label="pos", number=1, word="nice", to="fine", salience=-1.0),
        Rule(label="neg", number=0, word="film", to="picture", salience=0.1),
    ]
)


def one(text, label=1, share=1.0):
    (done,) = apply_rules(RULES, [Example("x", {"text": text}, label)], NAMES, share=share)
    return done


def test_the_highest_salience_goes_first():
    done = one("a good film , GREAT and Nice")
    assert done.fields == {"text": "a okay movie , POOR and Nice"}
    assert [slot for slot, _, _ in done.changes] == [3, 1, 2]
    assert done.changes[0] == (3, "GREAT", "POOR")


@pytest.mark.parametrize(("share", "many"), [(0.01, 1), (0.3, 1), (0.4, 2), (0.6, 3), (1.0, 3)])
def test_at_most_a_share_of_the_words_changes_and_one_always_may(share, many):
    assert len(one("a good film , great day", share=share).changes) == many


def test_each_label_has_its_own_rules():
    assert one("good film", label=0).fields == {"text": "good picture"}
    assert one("nothing here").changes == ()


def test_texts_that_are_none_stay_and_say_why():
    done = one("good \ud800")
    assert done.changes == ()
    assert "surrogate" in done.reason


def test_a_share_of_nothing_is_refused():
    with pytest.raises(SettingError, match="share of words"):
        one("good", share=0.0)
    with pytest.raises(DataError, match="the data has a, b"):
        list(apply_rules(RULES, [], ("a", "b")))


@pytest.fixture
def file(tmp_path):
    return str(write_rules(RULES, tmp_path / "rules.csv"))


WORDS = st.lists(st.sampled_from(["good", "great", "film", "bad", "Nice", "the", "GOOD,"]), min_size=1, max_size=9)


@given(WORDS, st.sampled_from([0.1, 0.3, 0.7, 1.0]))
def test_the_recipe_asked_once_makes_the_same_text(tmp_path_factory, words, share):
    path = tmp_path_factory.mktemp("rules") / "rules.csv"
    write_rules(RULES, path)
    text = " ".join(words)
    attack = recipe(file=str(path), share=share, once=True).for_labels(NAMES)
    outcome = toy.only(attack, text, label=1, target=toy.victim(lambda texts: [[0.4, 0.6] for _ in texts]))
    assert outcome.status == "failed"
    done = one(text, share=share)
    assert outcome.queries.asked == (2 if done.changes else 1)
    calls = toy.Calls(lambda texts: [[0.4, 0.6] if t == text else [0.6, 0.4] for t in texts])
    broken = toy.only(attack, text, label=1, target=toy.victim(calls))
    assert broken.status == ("success" if done.changes else "failed")
    assert broken.adversarial.text == done.fields["text"]


def test_the_recipe_stops_as_soon_as_the_label_falls(file):
    attack = recipe(file=file, share=1.0)
    outcome = toy.only(attack, "a great , good film", label=1)
    assert outcome.status == "success"  # great to poor leaves 2 - 1 = 1; good to okay then -0.75
    assert [(e.before, e.after) for e in outcome.edits] == [("great", "poor"), ("good", "okay")]
    assert outcome.queries.asked == 3


def test_the_recipe_keeps_to_its_share(file):
    outcome = toy.only(recipe(file=file, share=0.3), "a great , good film", label=1)
    assert outcome.status == "failed"
    assert len(outcome.edits) == 1


def test_the_recipe_reads_labels_by_name(file):
    attack = recipe(file=file, share=1.0).for_labels(("pos", "neg"))
    target = toy.victim(lambda texts: [[0.2, 0.8] if "movie" in text else [0.9, 0.1] for text in texts])
    assert toy.only(attack, "an awful film", target, label=0).status == "success"
    assert toy.only(attack.for_labels(NAMES), "an awful film", target, label=0).status == "failed"
    with pytest.raises(DataError, match="the data has world, sports"):
        recipe(file=file).for_labels(("world", "sports"))


def test_other_recipes_do_not_mind_labels():
    attack = toy.listed()
    assert attack.for_labels(("a", "b")) is attack


def test_packaged_rules_are_for_reviews():
    rules = packaged_rules()
    assert rules.labels == ("negative", "positive")
    assert {r.number for r in rules} == {0, 1}
    assert all(r.salience > 0 for r in rules)


@pytest.mark.parametrize("name", ["changed.csv", "changed.jsonl"])
def test_what_is_written_is_a_dataset_again(tmp_path, name):
    examples = toy.examples(["a good film", 'bad, "awful" film'])
    done = list(apply_rules(RULES, examples, NAMES, share=1.0))
    path = write_applied(done, NAMES, tmp_path / name)
    again = load(str(path))
    assert [e.fields["text"] for e in again] == ["a okay movie", 'bad, "awful" picture']
    assert [again.labels[e.label] for e in again] == ["pos", "neg"]
    with pytest.raises(SettingError, match=r"\.csv or a \.jsonl"):
        write_applied(done, NAMES, tmp_path / "changed.txt")
