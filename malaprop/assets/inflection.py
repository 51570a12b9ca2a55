"""Gives a base form the ending of another word: an option for synonyms, which WordNet lists as base forms.

Regular endings only, by spelling rules; an irregular verb comes out regular (`goed`) unless WordNet's list of
irregular forms has one with the wanted ending. The papers put the bare base form, and so do the recipes by default.
"""

from __future__ import annotations

import re

from malaprop.assets.wordnet import WordNet

_HISSING = re.compile(r"(?:s|x|z|ch|sh|[^aeiou]o)$")
_SHORT = re.compile(r"[^aeiou]*[aeiou][bdgklmnprtvz]$")  # one vowel, one consonant: the consonant doubles


def ending(word: str, base: str, pos: str) -> str:
    """Which ending the word has as a form of the base: s, ing, ed, er, est, or none."""
    if word == base or pos == "r":
        return ""
    marks = {"n": ("s",), "v": ("ing", "s"), "a": ("est", "er")}[pos]
    return next((mark for mark in marks if word.endswith(mark)), {"n": "s", "v": "ed", "a": ""}[pos])


def add(base: str, mark: str) -> str:
    """The base with an ending, by the rules of spelling."""
    if mark == "s":
        if base.endswith("y") and base[-2:-1] not in tuple("aeiou"):
            return base[:-1] + "ies"
        return base + ("es" if _HISSING.search(base) else "s")
    if not mark:
        return base
    if base.endswith("ie") and mark == "ing":
        return base[:-2] + "ying"
    if base.endswith("e") and not (mark == "ing" and base.endswith(("ee", "oe", "ye"))):
        return base[:-1] + mark
    if base.endswith("y") and base[-2:-1] not in tuple("aeiou") and mark != "ing":
        return base[:-1] + "i" + mark
    return base + base[-1] + mark if _SHORT.fullmatch(base) else base + mark


def inflect(wordnet: WordNet, lemma: str, like: str, pos: str) -> str:
    """The lemma in the form that `like` has: movie, like films (n), gives movies."""
    base = wordnet.lemma(like, pos)
    lower = like.lower()
    bases = [found for found in wordnet.bases(like, pos) if found != lower] or [base or lower]
    mark = ending(lower, bases[0], pos)
    irregular = wordnet.irregular(lemma, pos)
    if mark and irregular:
        fitting = [form for form in irregular if mark == "ed" or form.endswith(mark) or (pos == "n" and mark == "s")]
        if fitting and not (pos == "v" and mark in ("s", "ing")):
            return fitting[0]
    return add(lemma, mark)
