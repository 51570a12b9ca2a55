"""Checks the requests of the page: length of texts, known names, numbers in range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, SettingError
from malaprop.core.text import BREAK, Text, Words

VICTIMS = 4  # most victims side by side
WORDS = 2_000  # most words of a text to score or attack
EXPLAINED = 300  # most words of a text to explain: each word costs a query
CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class GivenText:
    """A text as a client sent it, with its words."""

    fields: Mapping[str, str]
    words: tuple[str, ...]  # in slots that count through all fields

    @property
    def count(self) -> int:
        return len(self.words)


def text_of(sent: Mapping[str, Any], names: Sequence[str]) -> GivenText:
    """Return the text of a request; raise unless it has exactly these fields and a permitted length."""
    fields = sent.get("fields")
    if (
        not isinstance(fields, dict)
        or list(fields) != list(names)
        or not all(isinstance(v, str) for v in fields.values())
    ):
        raise DataError(f"the request has no text for {' and '.join(names)}; please reload the page")
    length = sum(map(len, fields.values()))
    if length > CHARACTERS:
        raise DataError(f"the text has {length:,} characters; the playground takes at most {CHARACTERS:,}")
    given = GivenText(fields, tuple(Text.of(fields, Words()).strings))
    if given.count > WORDS:
        raise DataError(f"the text has {given.count:,} words; the playground takes at most {WORDS:,}")
    if not given.count:
        raise DataError("the text has no words; please type at least one letter or digit")
    return given


def number_of(sent: Mapping[str, Any], name: str, below: int, default: int | None = None) -> int:
    """Return a whole number of a request, from 0 to below `below`."""
    value = sent.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
        raise SettingError(f"{name} must be a number from 0 to {below - 1}")
    return value


def name_of(sent: Mapping[str, Any], name: str, known: Sequence[str]) -> str:
    """Return a name of a request; raise unless it is one of `known`."""
    value = sent.get(name)
    if not isinstance(value, str) or value not in known:
        raise unknown(name, str(value)[:40], known)
    return value


def cut(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    """Split each field into the characters before its first word and its words with the gaps behind them."""
    text = Text.of(fields, Words())
    parts = text.joined()
    out: list[dict[str, Any]] = []
    names = iter(text.names)
    for place in range(0, len(parts), 2):
        own, *others = parts[place].split(BREAK)
        if not place:
            out.append({"name": next(names), "before": own, "words": []})
        else:
            out[-1]["words"].append({"word": parts[place - 1], "after": own})
        out += [{"name": next(names), "before": other, "words": []} for other in others]
    return out
