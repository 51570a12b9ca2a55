"""Text: exact round trip, fixed slots, words as people see them."""

from __future__ import annotations

import random
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from fuzz import HOSTILE, fuzzed
from hypothesis import example, given
from hypothesis import strategies as st

from malaprop.core.errors import TextError
from malaprop.core.text import BREAK, Text, Words, check_text, split_parts, word_pattern

valid = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
wordy = st.text("ab'-_ .\u0301👍*@`", max_size=40)
strings = st.one_of(valid, wordy, st.sampled_from(HOSTILE))


@given(strings)
@example("a\u0301-b’c")
def test_any_string_comes_back_exactly(string):
    text = Text.of(string, Words())
    assert str(text) == string
    assert text.values() == (string,)
    assert len(text.parts) == 2 * text.slots + 1
    assert [string[a:b] for a, b in text.spans()] == text.strings
    assert all(text.strings)


@given(st.lists(strings, min_size=1, max_size=4))
def test_several_fields_come_back_exactly(values):
    fields = {f"field {n}": value for n, value in enumerate(values)}
    text = Text.of(fields, Words(), 3)
    assert text.fields == fields
    alone = [Text.of(value, Words()) for value in values]
    assert text.strings == [word for one in alone for word in one.strings]
    assert text.field_of_slots().tolist() == [n for n, one in enumerate(alone) for _ in one.strings]
    found = [values[f][a:b] for f, (a, b) in zip(text.field_of_slots().tolist(), text.spans(), strict=True)]
    assert found == text.strings


def round_trips(count: int) -> None:
    rng = random.Random(7)
    for _ in range(count):
        table = Words()
        string, other = fuzzed(rng), fuzzed(rng)
        text = Text.of({"premise": string, "hypothesis": other}, table)
        assert text.values() == (string, other)
        if text.slots:
            slot = rng.randrange(text.slots)
            changed = text.put(slot, "new")
            assert changed.put(slot, text.strings[slot]).values() == (string, other)
            assert changed.drop(slot).slots == text.slots


def test_fuzzed_strings_come_back_exactly():
    round_trips(2_000)


@pytest.mark.slow
def test_a_hundred_thousand_fuzzed_strings_come_back_exactly():
    round_trips(50_000)  # two strings each


@pytest.mark.parametrize(
    ("string", "words"),
    [
        ("don't", ["don't"]),
        ("don’t stop", ["don’t", "stop"]),
        ("well-known", ["well-known"]),
        ("film's", ["film's"]),
        ("'quoted'", ["quoted"]),
        ('"quoted," she said', ["quoted", "she", "said"]),
        ("the actors' film", ["the", "actors", "film"]),
        ("U.S.", ["U", "S"]),
        ("e-mail", ["e-mail"]),
        ("3.5", ["3", "5"]),
        ("nai\u0308ve", ["nai\u0308ve"]),
        ("cafe\u0301!", ["cafe\u0301"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("f*ck", ["f*ck"]),
        ("one--two", ["one--two"]),
        ("one -- two", ["one", "two"]),
        ("end.", ["end"]),
        ("snake_case _lead trail_", ["snake_case", "lead", "trail"]),
        ("...", []),
        ("", []),
        ("👍", []),
        ("I ❤️ it", ["I", "it"]),
        ("tab\tand\nline", ["tab", "and", "line"]),
    ],
)
def test_words(string, words):
    text = Text.of(string, Words())
    assert text.strings == words
    assert str(text) == string


@given(st.one_of(st.text(st.characters(codec="ascii")), st.text("ab1'-_ .*@`", max_size=20)))
def test_plain_letters_are_cut_by_the_same_rule(string):
    found = [edge for match in word_pattern().finditer(string) for edge in match.span()]
    cuts = [0, *found, len(string)]
    assert split_parts(string) == [string[a:b] for a, b in pairwise(cuts)]


def test_no_mark_is_parted_from_its_letter():
    for code in range(0x300, 0x370):
        assert unicodedata.category(chr(code)) == "Mn"
        assert Text.of(f"a{chr(code)} b", Words()).strings == [f"a{chr(code)}", "b"]


def test_long_runs_take_linear_time():
    for piece in ("a-", "a'", "-", "a\u0301", "`", "a_", "_"):
        string = piece * 50_000
        assert str(Text.of(string, Words())) == string
    assert word_pattern().fullmatch("a" + "-" * 50_000) is None


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("ab\ud800c", r"lone surrogate U\+D800 at character 2"),
        ("\udfff", r"lone surrogate U\+DFFF at character 0"),
        (b"bytes", "must be a string, got bytes"),
        (None, "must be a string, got NoneType"),
        (3.5, "must be a string, got float"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(bad, message):
    with pytest.raises(TextError, match=message):
        check_text(bad)
    with pytest.raises(TextError, match=message):
        Text.of({"premise": "fine", "hypothesis": bad}, Words())


def test_an_example_needs_a_field():
    with pytest.raises(TextError, match="at least one field"):
        Text.of({}, Words())


@given(strings, st.data())
def test_edits_keep_the_number_of_slots_and_show_in_changed(string, data):
    table = Words()
    text = Text.of(string, table)
    if not text.slots:
        return
    slot = data.draw(st.integers(0, text.slots - 1))
    word = data.draw(st.sampled_from(["x", "", "two words", text.strings[0]]))
    for made in (text.put(slot, word), text.drop(slot), text.insert(slot, "new"), text.put(slot, table.id(word))):
        assert made.slots == text.slots
        assert made.parts[::2].tolist() == text.parts[::2].tolist()
        expected = [s for s in range(text.slots) if made.strings[s] != text.strings[s]]
        assert made.changed(text).tolist() == text.changed(made).tolist() == expected
        whole = str(made)
        assert [whole[a:b] for a, b in made.spans()] == made.strings
    assert str(text) == string


def test_insert_sets_a_word_beside_the_one_there():
    text = Text.of("a film.", Words())
    assert str(text.insert(1, "good", after=False)) == "a good film."
    assert str(text.insert(1, "noir")) == "a film noir."
    assert str(text.drop(1).insert(1, "play")) == "a play."
    assert text.insert(1, "noir").slots == 2


@pytest.mark.parametrize(
    ("string", "slots", "left"),
    [
        ("a good film", [1], "a film"),
        ("a good film", [0], "good film"),
        ("a good film", [2], "a good"),
        ("a good film", [0, 1], "film"),
        ("a good film", [0, 1, 2], ""),
        ("a good film", [1, 2], "a"),
        ("a  good  film", [1], "a   film"),
        ("  a film", [0], "  film"),
        ("a, good. film", [1], "a,. film"),
        ("(good) film", [0], "() film"),
        ("film", [0], ""),
        (" film ", [0], " "),
        ("a\tgood\nfilm", [1], "a\nfilm"),
    ],
)
def test_deleting_takes_one_space_along(string, slots, left):
    text = Text.of(string, Words())
    for slot in slots:
        text = text.drop(slot)
    assert str(text) == left


@given(st.lists(strings, min_size=1, max_size=3), st.data())
def test_a_deletion_takes_at_most_one_space_and_stays_in_its_field(values, data):
    text = Text.of({str(n): value for n, value in enumerate(values)}, Words())
    if not text.slots:
        return
    slot = data.draw(st.integers(0, text.slots - 1))
    place = int(text.field_of_slots()[slot])
    made = text.drop(slot)
    for n, (before, after) in enumerate(zip(values, made.values(), strict=True)):
        lost = len(before) - len(after)
        gone = len(text.strings[slot])
        assert lost in ((gone, gone + 1) if n == place else (0,))


def test_a_deletion_at_the_start_of_a_later_field_takes_the_space_after_it():
    text = Text.of({"one": "a film", "two": "good plot", "three": ""}, Words())
    assert text.drop(2).values() == ("a film", "plot", "")
    assert text.drop(2).drop(3).values() == ("a film", "", "")
    assert text.drop(1).values() == ("a", "good plot", "")
    assert text.field_of_slots().tolist() == [0, 0, 1, 1]


def test_fields_that_hold_no_word_are_counted():
    text = Text.of({"a": "", "b": "...", "c": "one", "d": "", "e": "two"}, Words())
    assert text.field_of_slots().tolist() == [2, 4]
    assert text.fields == {"a": "", "b": "...", "c": "one", "d": "", "e": "two"}
    nothing = Text.of({"a": "", "b": "!"}, Words())
    assert nothing.field_of_slots().tolist() == []
    assert nothing.values() == ("", "!")


def test_a_slot_that_does_not_exist_is_refused():
    text = Text.of("a film", Words())
    for slot in (-1, 2):
        with pytest.raises(IndexError):
            text.put(slot, "x")
        with pytest.raises(IndexError):
            text.insert(slot, "x")


def test_words_are_numbered_once():
    table = Words()
    assert table.ids(["a", "b", "a", ""]).tolist() == [1, 2, 1, 0]
    assert table.strings == ["", "a", "b"]
    assert len(table) == 3
    assert BREAK not in table.strings
    assert table.ids([]).dtype == np.int64


@given(st.lists(st.lists(st.sampled_from(["", "a", "b", "c", "d e", "A"]))))
def test_words_have_one_number_whichever_way_they_come(rows):
    one_by_one, together = Words(), Words()
    for row in rows:
        assert together.ids(row).tolist() == [one_by_one.id(word) for word in row]
    assert together.strings == one_by_one.strings
    assert [together.strings[together.id(word)] for word in together.strings] == together.strings


def test_a_list_of_words_that_breaks_off_leaves_the_table_whole():
    table = Words()
    with pytest.raises(TypeError):
        table.ids(["a", ["no", "word"], "b"])
    assert table.ids(["b", "a"]).tolist() == [table.strings.index("b"), table.strings.index("a")]
