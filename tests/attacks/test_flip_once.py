"""A beam that edits a word once does not go there and back."""

import numpy as np

from malaprop.attacks.recipes import RECIPES
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
