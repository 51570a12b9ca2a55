"""A beam that edits a word once does not go there and back."""

import numpy as np
import pytest
from toy import only

from malaprop.attacks.gradient.flips import FlipBeam, close_character
from malaprop.attacks.recipes import RECIPES
from malaprop.core.errors import SettingError
from malaprop.core.text import Text, Words


class _Trial:
    def __init__(self, origin):
        self.origin = origin


class _Space:
    def __init__(self, slots):
        self.slots = slots


def test_words_that_were_edited_are_closed():
    origin = Text.of({"text": "a good film"}, Words(), 0)
    now = origin.put(1, "gxod")
    space = _Space(np.array([0, 1, 2]))
    once, again = (RECIPES["hotflip-char"](once=flag).search for flag in (True, False))
    assert once._open(_Trial(origin), now, space).tolist() == [0, 2]
    assert again._open(_Trial(origin), now, space).tolist() == [0, 1, 2]
    assert RECIPES["hotflip-char-greedy"]().search.once


@pytest.mark.parametrize(
    ("before", "after", "closed", "found"),
    [
        ("good", "gxod", "", ".x.."),
        ("gxod", "gyod", ".x..", None),  # there and back
        ("gxod", "gxyd", ".x..", ".xx."),
        ("good", "gxood", "", ".x..."),
        ("gxood", "good", ".x...", None),  # an inserted character is not taken out again
        ("gxod", "xod", ".x..", "x.."),
        ("gxod", "god", ".x..", None),
        ("good", "god", ".x..", ".x."),  # of a double letter the open one goes
        ("good", "god", ".xx.", None),
        ("gxod", "gxodd", ".x..", ".x.x."),
    ],
)
def test_a_character_is_edited_once(before, after, closed, found):
    assert close_character(before, after, closed) == found


@pytest.mark.usefixtures("tiny_assets")
def test_where_an_edit_closes_its_character_alone_a_word_is_edited_again_and_no_character_is(monkeypatch):
    seen, look = [], FlipBeam._look
    monkeypatch.setattr(FlipBeam, "_look", lambda self, trial, member, space: (
        seen.append(member), look(self, trial, member, space))[1])  # fmt: skip
    most = {}
    for closes in ("word", "character"):
        seen.clear()
        only(RECIPES["hotflip-char"](closes=closes, share=0.9, operations="flip", confidence=0.999), "great", label=1)
        letters = [sum(a != b for a, b in zip("great", member.text.strings[0], strict=True)) for member in seen]
        most[closes] = max(letters)
        if closes == "character":
            assert letters == [member.closed.get(0, "").count("x") for member in seen], "changed once and for good"
    assert most == {"word": 1, "character": 4}


@pytest.mark.parametrize(
    ("before", "after", "closed", "found"),
    [
        ("good", "gxood", "", "xxx.."),  # the letters on both sides are closed with the new one
        ("good", "xgood", "", "xx..."),
        ("good", "goodx", "", "...xx"),
        ("gxood", "gxyood", "xxx..", None),
        ("gxood", "gxooyd", "xxx..", "xxxxxx"),
        ("good", "goood", "", "xxx.."),  # of three places of a double letter the first open one
        ("good", "goood", "x...", "xxxx."),
        ("good", "gxod", "", ".x.."),  # a flip closes its own letter
    ],
)
def test_an_insertion_may_close_its_neighbours(before, after, closed, found):
    assert close_character(before, after, closed, beside=True) == found


@pytest.mark.usefixtures("tiny_assets")
def test_the_operations_that_were_picked_are_counted_in_success_and_failure():
    settings = {"closes": "character", "share": 0.5, "operations": "flip"}
    for confidence, status in ((None, "success"), (0.9999, "failed")):
        outcome = only(RECIPES["hotflip-char"](confidence=confidence, **settings), "great bad", label=1)
        assert outcome.status == status
        letters = sum(a != b for a, b in zip("great bad", outcome.adversarial.text, strict=True))
        picked = {name: outcome.measures[f"picked_{name}"] for name in ("flip", "insert", "delete")}
        assert picked == {"flip": letters, "insert": 0, "delete": 0}
        assert 1 <= outcome.measures["most_in_a_word"] <= letters


@pytest.mark.usefixtures("tiny_assets")
@pytest.mark.parametrize("exact", [False, True])
def test_a_word_takes_no_more_edits_than_its_limit(exact):
    attack = RECIPES["hotflip-char"](closes="character", per_word=2, share=0.9, confidence=0.9999, exact=exact, width=2)
    outcome = only(attack, "great good", label=1)
    assert 1 <= outcome.measures["most_in_a_word"] <= 2
    assert sum(outcome.measures[f"picked_{name}"] for name in ("flip", "insert", "delete")) <= 4


def test_what_closes_nothing_that_there_is_is_refused():
    with pytest.raises(SettingError, match="closes takes word, character or neighbours"):
        RECIPES["hotflip-char"](closes="text")
    with pytest.raises(SettingError, match="per_word must be at least 1"):
        RECIPES["hotflip-char"](per_word=0)
