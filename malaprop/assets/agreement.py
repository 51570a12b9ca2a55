"""Slips of agreement, by a few rules and WordNet: what can be counted where no grammar checker is installed.

*a* before a vowel, a word twice, *these* before a singular, *a* before a plural, *to* or *will* before a past form,
*have* before a base form. It sees far less than LanguageTool does, and is meant for a text beside its original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from malaprop.assets.inflection import find_marks
from malaprop.assets.wordnet import PARTS, WordNet

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[.,;:!?()\"]")  # noqa: RUF001 - a mark parts what stands beside it
_VOWEL = re.compile(r"[aeiou]|hour|hon(?:est|ou?r)|heir")
_AS_CONSONANT = re.compile(r"one|once|uni(?![nm])|eu|us[aeu]|ut[aei]|ub|ur[aeiou]")  # spoken with w or y
_TWICE = frozenset({"that", "had", "very", "so", "no", "really", "ha", "bla", "blah"})
_ONE = frozenset({"a", "an", "this", "every", "each", "another"})
_MANY = frozenset({"these", "those", "many", "several"})
_BASE = frozenset(
    ["to", "will", "would", "can", "could", "should", "must", "may", "might", "shall", "does", "did", "cannot"]
)
_HAVE = frozenset({"has", "have", "had", "having"})


def count_slips(wordnet: WordNet, text: str) -> int:
    """How many there are in a text."""
    return sum(1 for _ in find_slips(wordnet, text))


def find_slips(wordnet: WordNet, text: str) -> Iterator[tuple[str, str]]:
    """The pairs of neighbouring words that do not agree."""
    words: Sequence[str] = _WORD.findall(text.lower())
    for one, two in pairwise(words):
        if one[0].isalpha() and two[0].isalpha() and _disagree(wordnet, one, two):
            yield one, two


def _disagree(wordnet: WordNet, one: str, two: str) -> bool:
    if one == two:
        return one not in _TWICE
    if not follows_article(one, two):
        return True
    sole = wordnet.usual(two)
    if sole == 1 << PARTS.index("n"):
        marks = find_marks(wordnet, two, "n")
        return (one in _ONE and marks == {"s"}) or (one in _MANY and marks == {""})
    if sole == 1 << PARTS.index("v"):
        marks = find_marks(wordnet, two, "v")
        return (one in _BASE and bool(marks) and marks <= {"s", "ed", "en"}) or (one in _HAVE and marks == {""})
    return False


def follows_article(before: str, word: str) -> bool:
    """Whether the word may stand behind this one, if that is a or an: an hour, a union."""
    lower = word.lower()
    vowel = bool(_VOWEL.match(lower)) and not _AS_CONSONANT.match(lower)
    return before.lower() not in ("a", "an") or (before.lower() == "an") == vowel
