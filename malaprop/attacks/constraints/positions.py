"""Constraints on slots: which words may change at all, and which words and spans the user protects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.settings import EXPRESSION, split_list
from malaprop.core.text import Ints, is_unspaced


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepStopWords:
    """Function words stay, as they carry the grammar; `extra` adds further words."""

    extra: tuple[str, ...] = ()
    stage: ClassVar[Literal["slot"]] = "slot"

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        kept = trial.language.stop_words() | {word.lower() for word in self.extra}
        strings = trial.origin.strings
        return np.asarray([strings[s].lower() not in kept for s in slots.tolist()], np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongWords:
    """Only words of at least `least` characters change; in scripts without spaces between words any word may."""

    least: int = 3
    stage: ClassVar[Literal["slot"]] = "slot"

    def __post_init__(self) -> None:
        if self.least < 1:
            raise SettingError(f"LongWords.least must be at least 1, got {self.least}")

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        strings = trial.origin.strings
        words = (strings[s] for s in slots.tolist())
        return np.asarray([len(word) >= self.least or is_unspaced(word) for word in words], np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstWords:
    """Only the first `count` words of each field change, for victims that read no further."""

    count: int = 512
    stage: ClassVar[Literal["slot"]] = "slot"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SettingError(f"FirstWords.count must be at least 1, got {self.count}")

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        fields = trial.origin.field_of_slots()
        return np.asarray(slots - np.searchsorted(fields, fields[slots]) < self.count)


FILE = "@"  # how an item begins that names a file of items


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepWords:
    """These words and phrases stay; the others may change.

    An item is a word or several in a row, whatever their case (`Bond`, `New York`), or `re:` and a regular expression:
    every word that a match touches stays.
    """

    items: tuple[str, ...]
    stage: ClassVar[Literal["slot"]] = "slot"

    def __post_init__(self) -> None:
        for item in self.items:
            _compile(item)

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        origin = trial.origin
        spans, fields = origin.spans(), origin.field_of_slots().tolist()
        kept = [np.zeros(len(value) + 1, np.bool_) for value in origin.values()]
        for marks, value in zip(kept, origin.values(), strict=True):
            for item in self.items:
                for found in _compile(item).finditer(value):
                    marks[found.start() : found.end()] = True
        return np.asarray([not kept[fields[s]][slice(*spans[s])].any() for s in slots.tolist()], np.bool_)


@lru_cache(maxsize=4096)
def _compile(item: str) -> re.Pattern[str]:
    """Return the pattern that finds an item in a text; raise on an item that could find nothing."""
    if not item.startswith(EXPRESSION):
        if not item.strip():
            raise SettingError("a protected word is empty; write the word, or leave it out")
        phrase = r"\s+".join(map(re.escape, item.split()))
        return re.compile(rf"(?<!\w){phrase}(?!\w)", re.IGNORECASE)
    try:
        return re.compile(item.removeprefix(EXPRESSION))
    except re.error as error:
        raise SettingError(f"{item!r} is not a regular expression: {error}") from None


def parse_keep(given: str | Iterable[str]) -> KeepWords:
    """Parse protected words: words, phrases, `re:EXPRESSION` and `@FILE`, a file with one of these a line."""
    listed = split_list(given) if isinstance(given, str) else given
    found = tuple(dict.fromkeys(item for one in listed for item in _read(one)))
    if not found:
        raise SettingError("there is nothing to keep; name words, phrases, re:EXPRESSION or @FILE")
    return KeepWords(items=found)


def _read(item: str) -> Iterator[str]:
    """Yield the item itself, or the lines of the file that it names."""
    if not isinstance(item, str):
        raise SettingError(f"a protected word is a string, got {item!r}")
    if not item.startswith(FILE):
        yield item
        return
    path = Path(item.removeprefix(FILE))
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"the protected words in {path} cannot be read: {error}") from None
    yield from (line.strip() for line in lines if line.strip())
