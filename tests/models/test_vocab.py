"""Word vocabularies: tokens never reach over the border between a word and a gap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import VictimError
from malaprop.core.text import BREAK, Text, Words
from malaprop.models.tokens.vocab import SEP, SPECIAL, UNK, UNKNOWN, Vocab, tokens

ODD = "aZ09_ '’-*@`×.,!?\u0301\u200d\U0001f600Σİß\u05d0\u2028\x00\n\t[]"


@pytest.mark.parametrize(
    ("string", "expected"),
    [
        ("The film's fine.", ["the", "film", "'s", "fine", "."]),
        ("don’t, well-known!", ["do", "n't", ",", "well", "known", "!"]),
        ("...", [".", ".", "."]),
        ("they'll 'tis o'brien", ["they", "'ll", "'", "tis", "o'brien"]),
        (" \t\n", []),
        ("", []),
        (f"a{BREAK}b", ["a", "<sep>", "b"]),
    ],
)
def test_tokens(string, expected):
    assert tokens(string) == expected


CHARS = st.sampled_from(ODD) | st.characters(exclude_categories=("Cs",))


@given(st.lists(st.text(CHARS, max_size=40), min_size=1, max_size=3))
def test_a_text_has_the_tokens_of_its_parts(fields):
    text = Text.of({f"f{i}": value for i, value in enumerate(fields)}, Words())
    parts = [text.table.strings[i] for i in text.parts.tolist()]
    assert tokens(BREAK.join(fields)) == [token for part in parts for token in tokens(part)]


@given(st.text(st.sampled_from("ab '-.,"), max_size=20), st.data())
def test_deleting_and_replacing_words_keeps_it_so(string, data):
    text = Text.of(string, Words())
    for slot in range(text.slots):
        word = data.draw(st.sampled_from(["", "ab", "a b", "c's", "b-a", UNKNOWN]))
        text = text.put(slot, word)
        parts = [text.table.strings[i] for i in text.parts.tolist()]
        assert tokens(text.values()[0]) == [token for part in parts for token in tokens(part)]


def test_numbers():
    vocab = Vocab.build(["b a", "a unk c"], also=["z", "a"])
    assert vocab.words == [*SPECIAL, "a", "b", "c", "z"]
    assert vocab.cut(["A z", "nope", UNKNOWN, "", "UNK"]) == [[3, 6], [UNK], [UNK], [], [UNK]]
    assert vocab.encode([("a", "b")]) == [[3, SEP, 4]]
    assert Vocab.build(["b a", "a c"], least=2).words == [*SPECIAL, "a"]
    assert len(Vocab.build(["b a", "a c"], most=4)) == 4


def test_files(tmp_path):
    vocab = Vocab.build(["a \u2028 b \x85 c \U0001f600 \x00"])
    vocab.save(tmp_path / "v.txt")
    assert Vocab.load(tmp_path / "v.txt").words == vocab.words
    (tmp_path / "w.txt").write_text("a\nb\n")
    with pytest.raises(VictimError, match="not a vocabulary"):
        Vocab.load(tmp_path / "w.txt")
    with pytest.raises(VictimError, match="cannot be read"):
        Vocab.load(tmp_path / "none.txt")
