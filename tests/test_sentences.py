"""The prose of README and docs: short sentences, no riddles, and no word of our own that the glossary lacks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))

import sentences  # noqa: E402

WORDS = {"terms": {"slot": "a numbered word"}, "riddles": {"fast path": "fast path"}}


def test_the_pages_keep_to_the_rules(capsys):
    assert sentences.main([]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("Ask it. Then wait!", [2, 2]),
        ("Use `malaprop audit --n 3` and [the whole report](report.md).", [6]),
        ("By Ren et al. 2019, it is 62.4% (624/1000, 59.4-65.4) now.", [9]),
        ("# A heading is none\n\n| a | table |\n| --- | --- |\n\n```sh\nnor is code\n```\n\nBut this is.", [3]),
        ("- one item\n- another item\n  over two lines", [2, 5]),
        ("machine: AMD · threads: 1", [2, 2]),
    ],
)
def test_sentences_are_counted_as_they_are_read(page, words):
    assert [one.words for one in sentences.sentences(page)] == words


@pytest.mark.parametrize(
    ("page", "known", "faults"),
    [
        ("word " * 41, set(), 2),  # too long, and so is the mean
        ("word " * 20 + ".", set(), 1),
        ("It takes the fast path.", set(), 1),
        ("Slots are numbered.", set(), 1),
        ("Slots are numbered.", {"slot"}, 0),
    ],
)
def test_what_is_wrong_is_named(page, known, faults):
    assert len(sentences.check(page, known, WORDS)) == faults


def test_every_word_of_our_own_is_in_the_glossary():
    words = sentences.tomllib.loads((ROOT / "tools" / "words.toml").read_text(encoding="utf-8"))["terms"]
    assert set(words) <= sentences.terms(sentences.GLOSSARY.read_text(encoding="utf-8"))
