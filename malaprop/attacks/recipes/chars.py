"""Recipes that change characters."""

from __future__ import annotations

from malaprop.attacks.attack import Attack, Fallback
from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs, Kind
from malaprop.attacks.candidates.lookup import Misspellings
from malaprop.attacks.constraints.edits import MaxCharacters, MaxShare
from malaprop.attacks.constraints.positions import KeepStopWords, LongWords
from malaprop.attacks.ranking.order import UnknownWord
from malaprop.attacks.search.greedy import Greedy


def deepwordbug(*, max_edits: int = 30, stop_words: bool = False, fallback: bool = True) -> Attack:
    """Gao et al. 2018, "Black-box generation of adversarial text sequences to evade deep learning classifiers".

    One random swap, drop, insertion and substitution a word, at most 30 character edits. Differs: words are ranked by
    putting an unknown word in their place, not by the combined head and tail score; of the four edits the one that
    gains most is taken; stop words stay unless `stop_words` lets them change. Where this fails, `fallback` tries again
    with eight edits of each kind.
    """
    kinds: tuple[Kind, ...] = ("swap", "drop", "insert", "substitute")
    search = Greedy(rank=UnknownWord())
    limits = (MaxCharacters(count=max_edits),)
    return Attack(
        name="deepwordbug",
        candidates=CharEdits(kinds=kinds, each=1),
        constraints=limits if stop_words else (KeepStopWords(), *limits),
        search=search,
        fallback=Fallback(candidates=CharEdits(kinds=kinds, each=8), search=search) if fallback else None,
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
