"""Words that may stand for one another without changing what a text is about: contractions, names, places, numbers.

Small tables of our own, in the folder `words`; each says where its facts come from.
"""

from __future__ import annotations

from functools import cache

from malaprop.assets.lexicon import read_packaged

# Numbers in words that a text can exchange: those below twenty, and tens. Two and four are left out, which are misspelt
# for other words (2, 4), as are one, which is also a pronoun, and zero.
NUMBER_WORDS = (
    "three five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "twenty thirty forty fifty sixty seventy eighty ninety",
)


def _rows(name: str) -> list[str]:
    return [line for line in read_packaged(name).splitlines() if line and not line.startswith("#")]


@cache
def contractions() -> dict[str, str]:
    """Return the long form of each contraction, such as do not for don't; all in lower case."""
    return {short: long for short, _, long in (line.partition(" ") for line in _rows("contractions.txt"))}


@cache
def names() -> tuple[tuple[str, ...], ...]:
    """Return groups of interchangeable names of people, capitalised: women, men, families."""
    groups: dict[str, list[str]] = {}
    for kind, _, found in (line.partition(": ") for line in _rows("people.txt")):
        groups.setdefault(kind, []).extend(name.capitalize() for name in found.split())
    return tuple(map(tuple, groups.values()))


@cache
def places() -> tuple[tuple[str, ...], ...]:
    """Return groups of interchangeable names of places: countries, peoples, cities."""
    groups: dict[str, list[str]] = {}
    for kind, _, found in (line.partition(": ") for line in _rows("places.txt")):
        groups.setdefault(kind, []).extend(found.split(", "))
    return tuple(map(tuple, groups.values()))


def numbers() -> tuple[tuple[str, ...], ...]:
    """Return groups of interchangeable numbers in words."""
    return tuple(tuple(group.split()) for group in NUMBER_WORDS)
