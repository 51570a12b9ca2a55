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
def _foreign(code: str) -> dict[str, list[tuple[str, ...]]]:
    """Return the rows of a language that is not English, by what their words are: name, place, number, short."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for line in _rows("foreign.txt"):
        head, _, words = line.partition(": ")
        of, _, kind = head.partition(" ")
        if of == code:
            found.setdefault(kind, []).append(tuple(words.split(", ")))
    return found


@cache
def contractions(code: str = "en") -> dict[str, str]:
    """Return the long form of each contraction, such as do not for don't; all in lower case."""
    if code != "en":
        pairs = (pair.partition(" = ") for row in _foreign(code).get("short", ()) for pair in row)
        return {short: long for short, _, long in pairs}
    return {short: long for short, _, long in (line.partition(" ") for line in _rows("contractions.txt"))}


@cache
def names(code: str = "en") -> tuple[tuple[str, ...], ...]:
    """Return groups of interchangeable names of people, capitalised: women, men, families."""
    if code != "en":
        return tuple(_foreign(code).get("name", ()))
    groups: dict[str, list[str]] = {}
    for kind, _, found in (line.partition(": ") for line in _rows("people.txt")):
        groups.setdefault(kind, []).extend(name.capitalize() for name in found.split())
    return tuple(map(tuple, groups.values()))


@cache
def places(code: str = "en") -> tuple[tuple[str, ...], ...]:
    """Return groups of interchangeable names of places: countries, peoples, cities."""
    if code != "en":
        return tuple(_foreign(code).get("place", ()))
    groups: dict[str, list[str]] = {}
    for kind, _, found in (line.partition(": ") for line in _rows("places.txt")):
        groups.setdefault(kind, []).extend(found.split(", "))
    return tuple(map(tuple, groups.values()))


def numbers(code: str = "en") -> tuple[tuple[str, ...], ...]:
    """Return groups of interchangeable numbers in words."""
    if code != "en":
        return tuple(_foreign(code).get("number", ()))
    return tuple(tuple(group.split()) for group in NUMBER_WORDS)


def has_tables(code: str) -> bool:
    """Whether names, places and numbers of the language are listed."""
    return code == "en" or bool(_foreign(code))
