"""Noisy copies: the same for all victims, nested over shares, and with as many changed words as they say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from malaprop.core.example import Example
from malaprop.core.text import split_parts
from malaprop.features.profile import noise
from malaprop.features.profile.noise import KINDS, SHARES, make_copies

KNOWN = {"film": ("filmm", "flim"), "because": ("becuase",), "there": ("their", "thier")}
TEXT = "There is a film, they said; don't go because Rosalind's 3 clerks burn it."


@pytest.fixture(autouse=True)
def few_misspellings(monkeypatch):
    monkeypatch.setattr(noise, "misspellings", lambda: KNOWN)


def one(text: str = TEXT, **more) -> Example:
    return Example(id="1", fields={"text": text}, label=0, **more)


def words(text: str) -> list[str]:
    return split_parts(text)[1::2]


def apart(before: str, after: str) -> int:
    """The number of words that differ, with the gaps behind them."""
    pairs = [list(zip(parts[1::2], parts[2::2], strict=True)) for parts in map(split_parts, (before, after))]
    return sum(a != b for a, b in zip(*pairs, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_copies_depend_on_seed_draw_and_text_alone(kind):
    first = make_copies(one(), kind, 0, 7)
    assert first == make_copies(Example(id="other", fields={"text": TEXT}, label=1), kind, 0, 7)
    others = [make_copies(one(), kind, draw, seed) for draw, seed in ((1, 7), (0, 8), (2, 7), (0, 9))]
    assert any(other != first for other in others)


@pytest.mark.parametrize("kind", ["keyboard", "casing", "OCR"])
def test_so_many_words_change_and_those_of_small_shares_stay_changed(kind):
    text = " ".join(f"morning{n}" for n in range(50))
    copies = make_copies(one(text), kind, 0, 0)
    changed = [
        {n for n, (a, b) in enumerate(zip(words(text), words(copy.fields[0]), strict=True)) if a != b}
        for copy in copies
    ]
    for share, copy, here in zip(SHARES, copies, changed, strict=True):
        assert abs(len(here) - 50 * share) < 1
        assert copy.changed == len(here) / 50
    assert all(small <= large for small, large in pairwise(changed))


def test_shares_of_less_than_a_word_are_right_on_average():
    text = "ten words of a text that is not very long"
    mean = np.mean([[copy.changed for copy in make_copies(one(text), "casing", draw, 0)] for draw in range(400)], 0)
    assert np.abs(mean - SHARES).max() < 0.02


def test_a_word_is_misspelt_as_people_do_and_others_stay():
    text = "There is a film because"
    copy = make_copies(one(text), "misspelling", 0, 0)[-1]
    found = {b for a, b in zip(words(text), words(copy.fields[0]), strict=True) if a != b}
    assert found <= {"filmm", "flim", "becuase", "Their", "Thier"}
    assert len(found) == round(copy.changed * 5)
    (last,) = {copy.changed for copy in make_copies(one("no such words here at all"), "misspelling", 0, 0)}
    assert last == 0


@pytest.mark.parametrize(
    ("word", "gap", "expected"),
    [
        ("film", ", ", ("film", " ")),
        ("film", " , ", ("film", " ")),
        ("wait", "...", ("wait", " ")),
        ("don't", " ", ("dont", " ")),
        ("film", " ", None),
    ],
)
def test_lost_punctuation_keeps_words_apart(word, gap, expected):
    assert noise.lose_punctuation(word, gap, np.random.default_rng(0)) == expected


def test_casing_and_readings_are_of_the_word():
    rng = np.random.default_rng(0)
    assert {noise.change_case("film", "", rng) for _ in range(40)} == {("FILM", ""), ("Film", "")}
    assert noise.change_case("3", "", rng) is None
    read = {noise.misread("burn", " ", rng)[0] for _ in range(200)}
    assert "hurn" in read
    assert "bum" in read
    typed = {noise.mistype("the", " ", rng)[0] for _ in range(300)}
    assert {"teh", "th", "tthe", "rhe"} <= typed
    assert "the" not in typed


def test_only_fields_that_may_change_are_changed():
    pair = Example(id="1", fields={"premise": TEXT, "hypothesis": TEXT}, label=0, editable=("hypothesis",))
    copy = make_copies(pair, "casing", 0, 0)[-1]
    assert copy.fields[0] == TEXT
    assert apart(TEXT, copy.fields[1]) == round(copy.changed * len(words(TEXT))) > 0
