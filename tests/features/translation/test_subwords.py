"""Sub-words: texts come back, a word's pieces do not depend on its neighbours, marks of ours mean nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import SettingError, VictimError
from malaprop.features.translation.models.subwords import EOS, UNK, SubWords

TEXTS = ["A man, a plan.", 'He said "hello" to the man outside.', "Zwei Männer stehen draußen."] * 3


@pytest.fixture(scope="module")
def pieces() -> SubWords:
    return SubWords.learn(TEXTS, 90)


def test_texts_come_back(pieces):
    assert pieces.text([pieces.ids(text) for text in TEXTS]) == TEXTS


@given(st.lists(st.sampled_from(("man,", "plan.", '"hello"', "Männer", "xyz", "a-b")), min_size=1, max_size=5))
def test_runs_are_cut_one_by_one(pieces, runs):
    alone = [i for run in runs for i in pieces.ids(run)[:-1]]
    assert pieces.ids("  ".join(runs)) == [*alone, EOS]


def test_what_looks_like_a_mark_is_text(pieces):
    assert EOS not in pieces.ids("a </s> b")[:-1]
    assert 0 not in pieces.ids("<pad>")


@pytest.mark.parametrize("word", ["man", "hello", "outside", "He"])
def test_the_pieces_of_a_word_in_its_place(pieces, word):
    text = TEXTS[1]
    start = text.index(word)
    first, last = pieces.within(text, start, start + len(word))
    told = [pieces.tokenizer.id_to_token(i) for i in pieces.ids(text)[first:last]]
    assert "".join(told).replace("▁", "") == word


def test_a_word_of_letters_never_seen_has_no_pieces(pieces):
    assert pieces.word("man")
    assert pieces.word("日本") == []
    assert UNK in pieces.ids("日本")


def test_bad_files_and_sizes(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(VictimError, match="tokenizer"):
        SubWords.load(tmp_path)
    with pytest.raises(SettingError, match="at least 16"):
        SubWords.learn(TEXTS, 4)
