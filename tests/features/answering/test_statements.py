"""Statements out of questions, F1 as SQuAD has it, and what a changed question says."""

from __future__ import annotations

import numpy as np
import pytest

from malaprop.features.answering import statements
from malaprop.features.answering.scoring import f1, is_exact
from malaprop.features.answering.statements import change_words, fake_answer, make_statement

RULES = [
    ("What city did Tesla move to in 1880", "PRON NOUN AUX PROPN VERB ADP ADP NUM", "Chicago",
     "Tesla did move to the city of Chicago in 1880"),
    ("What city did he move to in 1880", "PRON NOUN AUX PRON VERB PART ADP NUM", "Oslo",
     "He did move to the city of Oslo in 1880"),
    ("Whose book inspired the film", "PRON NOUN VERB DET NOUN", "Ann Lee's", "Ann Lee's book inspired the film"),
    ("How old was he", "ADV ADJ AUX PRON", "30", ""),
    ("Why did he leave", "ADV AUX PRON VERB", "x", ""),
    ("Who wrote the book", "PRON VERB DET NOUN", "Ann Lee", "Ann Lee wrote the book"),
    ("Who was elected in May", "PRON AUX VERB ADP PROPN", "Ann Lee", "Ann Lee was elected in May"),
    ("What is the name of the river", "PRON AUX DET NOUN ADP DET NOUN", "Spey", "The name of the river is Spey"),
    ("Where did his father die", "ADV AUX PRON NOUN VERB", "Oslo", "His father did die in Oslo"),
    ("Where is the bridge", "ADV AUX DET NOUN", "Oslo", "The bridge is in Oslo"),
    ("In what year did the war end", "ADP PRON NOUN AUX DET NOUN VERB", "1840", "The war did end In the year 1840"),
    ("How many arches does it have", "ADV ADJ NOUN AUX PRON VERB", "six", "It does have six arches"),
    ("How many people live in Oslo", "ADV ADJ NOUN VERB ADP PROPN", "six", "Six people live in Oslo"),
    ("Name the river", "VERB DET NOUN", "Spey", ""),
    ("Why", "ADV", "x", ""),
]  # fmt: skip


@pytest.mark.parametrize(("question", "tags", "answer", "statement"), RULES)
def test_a_question_becomes_a_statement(question, tags, answer, statement):
    assert make_statement(question.split(), tags.split(), answer).lower() == statement.lower()


def test_names_numbers_and_antonyms_change(monkeypatch):
    monkeypatch.setattr(statements, "_antonyms", lambda: {"first": "last", "did": "undid"})
    words = ["When", "did", "Tesla", "first", "see", "Paris", "in", "1880"]
    tags = ["ADV", "AUX", "PROPN", "ADJ", "VERB", "PROPN", "ADP", "NUM"]
    changed = change_words(words, tags, np.random.default_rng(0))
    kept = [old for old, new in zip(words, changed, strict=True) if old == new]
    assert kept == ["When", "did", "see", "in"]
    assert changed[3] == "last"
    assert changed[7].isdigit()
    assert change_words(["It", "rains"], ["PRON", "VERB"], np.random.default_rng(0))[1] == "rains"


@pytest.mark.parametrize(
    "true", ["1880", "Prague", "nine arches 9", "Robert Stevenson", "green ink", "May 1880", "nine"]
)
def test_a_fake_answer_is_another_of_its_kind(true):
    for seed in range(5):
        fake = fake_answer(true, ["Who", "was"], np.random.default_rng(seed))
        assert fake != true
        assert any(c.isdigit() for c in fake) == any(c.isdigit() for c in true)
        assert fake[:1].isupper() == true[:1].isupper()


def test_f1_is_that_of_squad():
    assert f1("the Prague castle", ["Prague"]) == pytest.approx(2 / 3)
    assert f1("Vienna", ["Prague", "vienna!"]) == 1
    assert f1("", ["Prague"]) == 0
    assert is_exact("The Prague.", ["prague"])
    assert not is_exact("Prague castle", ["Prague"])
