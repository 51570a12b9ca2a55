"""A text written anew in the slots of another one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from malaprop.core.alignment import realign
from malaprop.core.text import Text, Words

WORDS = ["weird", "vulgar", "comedy", "that's", "an", "acquired", "taste"]
ORIGIN = "weird , vulgar comedy that's an acquired taste ."


def test_words_that_stay_keep_their_slots():
    made = realign(Text.of(ORIGIN, Words()), {"text": "strange, vulgar comedy which is a taste."})
    assert str(made) == "strange, vulgar comedy which is a taste."
    assert made.strings == ["strange", "vulgar", "comedy", "which", "is", "a", "taste"]


@pytest.mark.parametrize(
    ("value", "strings"),
    [
        ("Comedy", ["", "", "Comedy", "", "", "", ""]),
        (ORIGIN + " True is true .", [*WORDS[:-1], "taste . True is true"]),
        ("so it is : weird", ["so it is : weird", "", "", "", "", "", ""]),
    ],
)  # fmt: skip
def test_a_longer_stretch_shares_its_last_slot_and_a_shorter_one_leaves_slots_empty(value, strings):
    made = realign(Text.of(ORIGIN, Words()), {"text": value})
    assert made.strings == strings
    assert str(made) == value


def test_a_field_without_words_cannot_be_written_and_other_fields_stay():
    pair = Text.of({"premise": "A man, (a dog).", "hypothesis": " one man . "}, Words())
    assert realign(pair, {"hypothesis": "..."}) is None
    made = realign(pair, {"hypothesis": "a dog and one man!"})
    assert made.fields == {"premise": "A man, (a dog).", "hypothesis": "a dog and one man!"}
    assert made.slots == pair.slots
    assert set(made.changed(pair).tolist()) <= set(pair.slots_of(["hypothesis"]).tolist())


SOME = st.lists(st.sampled_from(["a", "b", "Ca", "x-y", ",", ".", '"', "(", " ", " "]), max_size=9).map("".join)


@settings(max_examples=60, deadline=None)
@given(SOME, SOME, SOME, SOME)
def test_what_is_written_reads_back_exactly(one, two, three, four):
    origin = Text.of({"p": one + "a", "h": "b " + two}, Words())
    made = realign(origin, {"p": three, "h": four})
    if made is None:
        assert not (any(c.isalpha() for c in three) and any(c.isalpha() for c in four))
    else:
        assert made.fields == {"p": three.strip(), "h": four.strip()}
        assert made.slots == origin.slots
