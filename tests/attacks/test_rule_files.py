"""Files of rules: written, read back, edited by hand, and wrong in every way."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.attacks.rule_files import Rule, Rules, parse_rules, read_rules, rules_csv, rules_json, write_rules
from malaprop.core.errors import DataError, RecordError

HEAD = "label,from,to,salience\n"
SOME = (
    Rule(label="pos", number=1, word="funny", to="laughable", salience=2.5, count=7, mean=2.75),
    Rule(label="pos", number=1, word="funny", to="comic", salience=3.0, count=1, mean=9.0),
    Rule(label="neg", number=0, word="bad", to="tough", salience=1.0),
    Rule(label="neg", number=0, word="dull", to="matte", salience=-1.0, count=2, mean=-1.5),
)


@pytest.mark.parametrize("name", ["rules.csv", "rules.json"])
def test_what_is_written_is_read_back(tmp_path, name):
    path = write_rules(SOME, tmp_path / "new" / name)
    assert read_rules(path).rules == SOME
    assert read_rules(path) == Rules(SOME)
    assert [p.name for p in path.parent.iterdir()] == [name]


def test_a_folder_stands_for_its_rules_csv(tmp_path):
    write_rules(SOME, tmp_path / "rules.csv")
    assert read_rules(tmp_path).rules == SOME


WORD = st.from_regex(r"[a-z]([a-z'-]{0,8}[a-z])?", fullmatch=True)
TO = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Z")), min_size=1, max_size=8)
SAID = st.tuples(st.sampled_from(["pos", "neg", "3"]), WORD, TO)


@given(st.lists(SAID, min_size=1, max_size=8, unique=True), st.floats(-9, 9), st.booleans())
def test_any_rules_come_back_from_either_format(said, salience, as_json):
    rules = [
        Rule(label=label, word=word, to=to, salience=round(salience, 3), count=at)
        for at, (label, word, to) in enumerate(said)
        if to.lower() != word
    ]
    if rules:
        text = rules_json(rules) if as_json else rules_csv(rules)
        assert parse_rules(text, "x", as_json=as_json).rules == tuple(rules)


def test_a_file_made_by_hand_needs_four_columns_in_any_order():
    rules = parse_rules("to,From,salience,LABEL,note\n decent ,GOOD,1e0,1,mine\n\n", "mine.csv")
    assert rules.rules == (Rule(label="1", word="good", to="decent", salience=1.0),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "mine.csv holds no rule"),
        (HEAD, "mine.csv holds no rule"),
        ("label,from,salience\n", "line 1: the header lacks to;"),
        (HEAD + "pos,good,fine,1\npos,good,fine\n", "line 3 has 3 columns, the header has 4"),
        (HEAD + "pos,good,fine,high\n", "line 2: 'salience' must be a number, got 'high'"),
        (HEAD + "pos,good,fine,nan\n", "line 2: 'salience' must be a number"),
        (HEAD + "pos,,fine,1\n", "line 2: 'from' must hold 1 to 200 characters"),
        (HEAD + "pos,very good,fine,1\n", "line 2: 'from' must be one word, got 'very good'"),
        (HEAD + "pos,good,Good,1\n", "line 2 puts 'good' for itself"),
        (HEAD + "pos,good,fine,1\npos,bad,ill,1\npos,Good,fine,2\n", "line 4 repeats the rule of line 2"),
        (HEAD + 'pos,"good"x,fine,1\n', "line 2 is not CSV"),
        (HEAD.replace(",", ";") + "pos;good;fine;1\n", "columns are separated by ';'; separate them by commas"),
        (HEAD.replace(",", "\t") + "pos\tgood\tfine\t1\n", "columns are separated by tabs; separate them by commas"),
        ("label,from,to,salience,count\npos,good,fine,1,1.5\n", "'count' must be a whole number"),
        (HEAD + f"pos,good,{'x' * 300},1\n", "'to' must hold 1 to 200 characters"),
    ],
)
def test_a_wrong_line_is_named(text, says):
    with pytest.raises(DataError) as error:
        parse_rules(text, "mine.csv")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("{", "is not JSON"),
        ("7", "holds no list of rules"),
        ('{"rules": [1]}', "rule 1 is not an object"),
        ('{"rules": []}', "holds no rule"),
        ('[{"label": "a", "from": "b", "to": "c", "salience": true}]', "rule 1: 'salience' must be a number"),
        ('[{"label": "a", "from": ["b"], "to": "c", "salience": 1}]', "rule 1: 'from' must hold"),
    ],
)
def test_wrong_json_is_named(value, says):
    with pytest.raises(DataError, match=says):
        parse_rules(value, "mine.json", as_json=True)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(DataError, match="no such file of rules"):
        read_rules(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"label,from,to,salience\npos,caf\xe9,bar,1\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_rules(tmp_path / "latin.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot write"):
        write_rules(SOME, tmp_path / "file" / "rules.csv")


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (("neg", "pos"), {"pos": 1, "neg": 0}),
        (("POS", "Neg"), {"pos": 0, "neg": 1}),  # by name, whatever the file's own numbers
        (("0", "1"), {"pos": 1, "neg": 0}),  # numbers alone: the file's hold
        (("pos", "neutral"), {"pos": 0}),
        ((), {"pos": 1, "neg": 0}),
    ],
)
def test_labels_are_found_by_name_then_by_number(names, numbers):
    assert Rules(SOME).numbers(names) == numbers


def test_numbers_of_a_list_of_ones_own_hold_for_data_with_names():
    assert parse_rules(HEAD + "1,good,fine,1\n", "x").numbers(("neg", "pos")) == {"1": 1}


def test_rules_for_labels_the_data_lacks_are_refused():
    with pytest.raises(DataError, match=r"rules for the labels pos, neg, the data has world, sports;"):
        Rules(SOME).numbers(("world", "sports"))
    with pytest.raises(DataError, match="the labels 7"):
        parse_rules(HEAD + "7,good,fine,1\n", "x").numbers(("0", "1"))
    with pytest.raises(DataError, match="the data has numbers alone"):
        parse_rules(HEAD + "pos,good,fine,1\n", "x").numbers(())


def test_the_strongest_rule_of_a_word_counts_and_none_that_helps_the_label():
    assert Rules(SOME).best(("neg", "pos")) == {1: {"funny": ("comic", 3.0)}, 0: {"bad": ("tough", 1.0)}}


def test_a_label_in_another_case_is_the_same_label():
    rules = parse_rules(HEAD + "Pos,good,fine,1\npos,great,fine,2\nneg,bad,ill,1\n", "x")
    assert rules.labels == ("Pos", "neg")
    assert rules.best(("neg", "pos"))[1] == {"good": ("fine", 1.0), "great": ("fine", 2.0)}


def test_rules_of_which_none_may_be_applied_are_refused():
    with pytest.raises(DataError, match="no rule of x for neg, pos has a salience above 0"):
        parse_rules(HEAD + "pos,good,fine,-1\nneg,bad,ill,0\nnews,game,match,1\n", "x").best(("neg", "pos"))


def test_rules_travel_and_say_what_they_are():
    rules = Rules(SOME, "some/where/rules.csv")
    back = pickle.loads(pickle.dumps(rules))
    assert pickle.loads(pickle.dumps(rules)) is back, "a process unpacks them once, whatever task brings them"
    assert back == rules
    assert hash(back) == hash(rules)
    assert str(rules).startswith("Rules(rules.csv, 4, ")
    assert rules != Rules(SOME[:2])
    assert json.loads(rules_json(SOME))["rules"][0]["from"] == "funny"
