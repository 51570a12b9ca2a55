"""Texts with fixed slots: split once into words and the gaps between them, and joined again exactly."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import TextError

Ints = NDArray[np.int64]

# Stands between two fields inside the gap that joins them. No valid text holds a surrogate, so nothing can forge it.
BREAK = "\udfff"
_SURROGATE = re.compile("[\ud800-\udfff]")


@cache
def _marks() -> str:
    """Return combining marks as a character class: \\w leaves them out, and a word must not end before its accent."""
    codes = [c for c in range(0x300, min(0x1E950, sys.maxunicode)) if unicodedata.category(chr(c))[0] == "M"]
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"\\U{a:08x}" if a == b else f"\\U{a:08x}-\\U{b:08x}" for a, b in runs)


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word: letters, digits and their marks; inside also apostrophes, hyphens, and * @ `.

    So don't, well-known, film's and f*ck are one word each, and quotes, dashes and full stops around a word are gap.
    """
    edge = r"(?:[^\W_]|[`×˗])"  # noqa: RUF001 - the last two pass for letters in slang and in homoglyph attacks
    inner = rf"[\w`×˗'’*@{_marks()}-]"  # noqa: RUF001
    word = rf"{edge}(?:{inner}*{edge})?[{_marks()}]*"
    arabic = "[\u0600-\u06ff]"  # Persian keeps parts of a word apart by a character of no width
    return re.compile(rf"{word}(?:(?<={arabic})\u200c(?={arabic}){word})*")


@cache
def _splitter() -> re.Pattern[str]:
    return re.compile(f"({word_pattern().pattern})")


_ASCII = re.compile(r"([A-Za-z0-9`]+(?:[_'*@-]+[A-Za-z0-9`]+)*)")  # the same for plain letters, eight times as fast


# Thai and Lao, Burmese, Khmer, kana, Han: scripts that put no spaces between words
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
_UNSPACED += "\U00020000-\U0003ffff"
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")

# A run of a script without spaces to its words, in order; joined they are the run.
Cut = Callable[[str], Sequence[str]]


def is_unspaced(string: str) -> bool:
    """Whether a string holds a character of a script that puts no spaces between words."""
    return not string.isascii() and _HAS_UNSPACED.search(string) is not None


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(f"([{_UNSPACED}][{_UNSPACED}{_marks()}]*)")


@cache
def _characters() -> re.Pattern[str]:
    return re.compile(f".[{_marks()}]*", re.DOTALL)


def split_characters(run: str) -> list[str]:
    """Split a string into its characters, each with its marks."""
    return _characters().findall(run)


def split_parts(string: str, cut: Cut = split_characters) -> list[str]:
    """Split a string into gap, word, gap, ..., word, gap.

    In a script without spaces `cut` says where a word ends; without it each character is a word.
    """
    if string.isascii():
        return _ASCII.split(string)
    parts = _splitter().split(string)
    return _split_runs(parts, cut) if _HAS_UNSPACED.search(string) else parts


def _split_runs(parts: Sequence[str], cut: Cut) -> list[str]:
    """Cut the words that hold a script without spaces; what stands between two words may be nothing."""
    out = [parts[0]]
    for word, gap in zip(parts[1::2], parts[2::2], strict=True):
        for number, run in enumerate(_runs().split(word)):
            if number % 2:
                out += [part for piece in cut(run) for part in (piece, "")]
            else:
                first, *rest = _splitter().split(run)
                out[-1] += first
                out += rest
        out[-1] += gap
    return out


class Words:
    """A table that numbers distinct strings, words and gaps alike; id 0 is the empty word.

    Character attacks make new words without end, so a table lives only as long as its shard of examples.
    """

    __slots__ = ("__weakref__", "_ids", "notes", "strings")

    def __init__(self) -> None:
        self.strings: list[str] = [""]
        self._ids: dict[str, int] = {"": 0}
        self.notes: dict[Hashable, Any] = {}  # a cache of what parts compute about words; it lives as long as the table

    def __len__(self) -> int:
        return len(self.strings)

    def id(self, string: str) -> int:
        found = self._ids.get(string)
        if found is None:
            found = self._ids[string] = len(self.strings)
            self.strings.append(string)
        return found

    def ids(self, strings: Iterable[str]) -> Ints:
        asked = strings if isinstance(strings, list) else list(strings)
        found = list(map(self._ids.get, asked))
        if None in found:
            put, count = self._ids.setdefault, self._ids.__len__
            found = [put(asked[i], count()) if known is None else known for i, known in enumerate(found)]
            added = list(islice(reversed(self._ids), count() - len(self.strings)))  # a dictionary keeps its order
            self.strings += added[::-1]
        return np.asarray(found, np.int64)


def check_text(string: str) -> str:
    """Return the string, or raise `TextError` where it cannot be a text."""
    if not isinstance(string, str):
        raise TextError(f"a text must be a string, got {type(string).__name__}")
    if (found := _SURROGATE.search(string)) is not None:
        raise TextError(
            f"text holds a lone surrogate U+{ord(found[0]):04X} at character {found.start()}, which no encoding can "
            "carry; decode the source with errors='replace'"
        )
    return string


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text as words in fixed slots and the gaps around them; made for an accepted edit, not for every candidate.

    `parts` holds gap, word, gap, ..., word, gap as ids of `table`: always 2 * slots + 1 of them, over all fields. A
    slot may come to hold no word (deletion) or several (insertion), yet the number of slots never changes.
    """

    table: Words
    parts: Ints
    owner: int  # the example; salts every key
    names: tuple[str, ...] = ("text",)

    @classmethod
    def of(cls, source: str | Mapping[str, str], table: Words, owner: int = 0, *, cut: Cut = split_characters) -> Text:
        """Split the fields into words; `cut` finds them in a script without spaces."""
        fields = {"text": source} if isinstance(source, str) else source
        if not fields:
            raise TextError("an example needs at least one field, got none")
        parts: list[str] = []
        for value in fields.values():
            fresh = split_parts(check_text(value), cut)
            if parts:
                parts[-1] += BREAK + fresh[0]
                fresh = fresh[1:]
            parts += fresh
        return cls(table, table.ids(parts), owner, tuple(fields))

    @property
    def slots(self) -> int:
        return len(self.parts) // 2

    @property
    def words(self) -> Ints:
        return self.parts[1::2]

    @property
    def strings(self) -> list[str]:
        """The word in each slot."""
        strings = self.table.strings
        return [strings[i] for i in self.parts[1::2].tolist()]

    def put(self, slot: int, word: int | str) -> Text:
        """Return this text with another word in one slot; an empty word deletes."""
        if not 0 <= slot < self.slots:
            raise IndexError(f"slot {slot} of a text of {self.slots}")
        parts = self.parts.copy()
        parts[2 * slot + 1] = self.table.id(word) if isinstance(word, str) else word
        return Text(self.table, parts, self.owner, self.names)

    def refilled(self, words: Ints) -> Text:
        """Return this text with these words in its slots."""
        parts = self.parts.copy()
        parts[1::2] = words
        return Text(self.table, parts, self.owner, self.names)

    def insert(self, slot: int, word: str, *, after: bool = True) -> Text:
        """Return this text with a second word in a slot, after or before the one that is there."""
        here = self.strings[slot]
        both = (here, word) if after else (word, here)
        space = "" if is_unspaced(here) and is_unspaced(word) else " "
        return self.put(slot, space.join(w for w in both if w))

    def drop(self, slot: int) -> Text:
        return self.put(slot, 0)

    def changed(self, origin: Text) -> Ints:
        """Return the slots whose words differ from the origin's."""
        return np.flatnonzero(self.parts[1::2] != origin.parts[1::2])

    def field_of_slots(self) -> Ints:
        """Return for each slot the number of its field."""
        if len(self.names) == 1:
            return np.zeros(self.slots, np.int64)
        strings = self.table.strings
        breaks = [strings[i].count(BREAK) for i in self.parts[0:-1:2].tolist()]
        return np.cumsum(np.asarray(breaks, np.int64))

    def slots_of(self, names: Sequence[str]) -> Ints:
        """Return the slots of these fields, in order."""
        if set(names) >= set(self.names):
            return np.arange(self.slots)
        return np.flatnonzero(np.isin(self.field_of_slots(), [i for i, name in enumerate(self.names) if name in names]))

    def joined(self) -> list[str]:
        """Return gap, word, gap, ... as strings; an empty slot removes one space beside it."""
        strings = self.table.strings
        out = [strings[i] for i in self.parts.tolist()]
        if self.parts[1::2].all():
            return out
        edge = 1  # the place before which its field holds no word
        for place in range(1, len(out), 2):
            if out[place]:
                continue
            before = out[place - 1]
            if before[-1:].isspace():
                out[place - 1] = before[:-1]
            elif place == edge or before[-1:] == BREAK:
                if out[place + 1][:1].isspace():
                    out[place + 1] = out[place + 1][1:]
                edge = place if out[place + 1] else place + 2
        return out

    def values(self) -> tuple[str, ...]:
        """Return the string of each field."""
        return tuple("".join(self.joined()).split(BREAK))

    def only(self, names: Sequence[str]) -> str:
        """Return the strings of these fields, joined by line breaks, such as the side of a pair that may change."""
        return "\n".join(value for name, value in self.fields.items() if name in names)

    @property
    def fields(self) -> dict[str, str]:
        return dict(zip(self.names, self.values(), strict=True))

    def spans(self) -> list[tuple[int, int]]:
        """Return the span of each slot's word in the string of its field."""
        at, spans = 0, []
        for place, part in enumerate(self.joined()):
            if place % 2:
                spans.append((at, at + len(part)))
                at += len(part)
            elif BREAK in part:
                at = len(part) - part.rindex(BREAK) - 1
            else:
                at += len(part)
        return spans

    def __str__(self) -> str:
        return "\n".join(self.values())
