"""Recipes that change characters."""

from __future__ import annotations

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs
from malaprop.attacks.candidates.lookup import Misspellings
from malaprop.attacks.constraints.edits import MaxCharacters, MaxShare
from malaprop.attacks.constraints.positions import LongWords
from malaprop.attacks.ranking.order import UnknownWord
from malaprop.attacks.search.greedy import Greedy


def deepwordbug(*, max_edits: int = 30) -> Attack:
    """Gao et al. 2018, "Black-box generation of adversarial text sequences to evade deep learning classifiers".

    One random swap, drop, insertion and substitution a word, at most 30 character edits. Differs: words are ranked by
    putting an unknown word in their place, not by the combined head and tail score, and of the four edits the one that
    gains most is taken.
    """
    return Attack(
        name="deepwordbug",
        candidates=CharEdits(kinds=("swap", "drop", "insert", "substitute"), each=1),
        constraints=(MaxCharacters(count=max_edits),),
        search=Greedy(rank=UnknownWord()),
    )


def typos(*, share: float = 0.5) -> Attack:
    """Misspellings that people have really made (collected by Belinkov and Bisk 2018), in at most half of the words."""
    return Attack(
        name="typos",
        candidates=Misspellings(),
        constraints=(MaxShare(share=share),),
        search=Greedy(rank=UnknownWord()),
    )


def keyboard(*, share: float = 0.5, least: int = 4) -> Attack:
    """One slip to a neighbouring key inside a word of four letters or more, in at most half of the words.

    After the "key" noise of Belinkov and Bisk 2018, but searched for instead of drawn.
    """
    return Attack(
        name="keyboard",
        candidates=CharEdits(kinds=("keyboard",), inner=True),
        constraints=(LongWords(least=least), MaxShare(share=share)),
        search=Greedy(rank=UnknownWord()),
    )


def homoglyph(*, share: float = 0.5) -> Attack:
    """Letters of other alphabets that look the same: one of a word, or all of it (cf. Boucher et al. 2022)."""
    return Attack(
        name="homoglyph",
        candidates=Homoglyphs(),
        constraints=(MaxShare(share=share),),
        search=Greedy(rank=UnknownWord()),
    )
