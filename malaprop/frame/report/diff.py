"""The differences between an original and its adversarial text, word by word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal

from malaprop.core.errors import TextError
from malaprop.core.text import BREAK, Text, Words
from malaprop.frame.records import Edit, Outcome

Kind = Literal["same", "old", "new"]
_TOKEN = re.compile(r"\s+|[^\W_][\w'’-]*|.", re.DOTALL)  # noqa: RUF001
_UNSEEN = ("Cc", "Cf")  # Unicode categories: control characters, and format characters such as zero widths
PAIRS = (
    200_000  # pairs of equal words above which texts are not compared word by word: the time can grow with their square
)


def show_unseen(text: str) -> str:
    """Return the text with control and format characters as [U+XXXX], so that invisible changes show."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _UNSEEN and c not in "\t\n" else c for c in text)


@dataclass(frozen=True, slots=True)
class Patch:
    """A replacement: characters start to end of the field with this number become `text`."""

    field: int
    start: int
    end: int
    text: str


def patches(outcome: Outcome) -> list[Patch]:
    """Return the patches that turn the original into the adversarial text: from the edits, or else by a diff."""
    if outcome.adversarial is None:
        return []
    old, new = outcome.original.fields, outcome.adversarial.fields
    found = _from_edits(old, new, outcome.edits) if outcome.edits else None
    return list(_by_words(old, new)) if found is None else found


def _from_edits(old: Mapping[str, str], new: Mapping[str, str], edits: Iterable[Edit]) -> list[Patch] | None:
    try:
        origin = Text.of(old, Words())
    except TextError:
        return None
    now = origin
    for edit in edits:
        if not 0 <= edit.slot < origin.slots:
            return None
        now = now.put(edit.slot, edit.after)
    return list(_merge(_changes(origin, now))) if now.fields == new else None


def _changes(origin: Text, now: Text) -> Iterator[Patch]:
    """Yield a patch for each part, word or gap, that differs; a deleted word takes a space along."""
    field = at = 0
    for part, fresh in zip(origin.joined(), now.joined(), strict=True):
        for number, (a, b) in enumerate(zip(part.split(BREAK), fresh.split(BREAK), strict=True)):
            if number:
                field, at = field + 1, 0
            if a != b:
                yield _tight(Patch(field, at, at + len(a), b), a)
            at += len(a)


def _tight(patch: Patch, old: str) -> Patch:
    """Narrow a patch that adds a word beside the old one to the new word alone."""
    if old and patch.text.endswith(f" {old}"):
        return Patch(patch.field, patch.start, patch.start, patch.text[: -len(old)])
    if old and patch.text.startswith(f"{old} "):
        return Patch(patch.field, patch.end, patch.end, patch.text[len(old) :])
    return patch


def _merge(found: Iterable[Patch]) -> Iterator[Patch]:
    last: Patch | None = None
    for patch in found:
        if last is not None and (last.field, last.end) == (patch.field, patch.start):
            last = Patch(last.field, last.start, patch.end, last.text + patch.text)
            continue
        if last is not None:
            yield last
        last = patch
    if last is not None:
        yield last


def _by_words(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Patch]:
    for field, (name, before) in enumerate(old.items()):
        a, b = _TOKEN.findall(before), _TOKEN.findall(new.get(name, before))
        ends = [0, *accumulate(map(len, a))]
        for i, j, k, m in _differences(a, b):
            yield Patch(field, ends[i], ends[j], "".join(b[k:m]))


def _differences(a: list[str], b: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield (i, j, k, m) where a[i:j] became b[k:m]. Very repetitive texts are one difference, to stay quick."""
    least = min(len(a), len(b))
    head = next((n for n in range(least) if a[n] != b[n]), least)
    tail = next((n for n in range(least - head) if a[-1 - n] != b[-1 - n]), least - head)
    a, b = a[head : len(a) - tail], b[head : len(b) - tail]
    often = Counter(a)
    if sum(often[token] for token in b if not token.isspace()) > PAIRS:
        yield head, head + len(a), head, head + len(b)
        return
    for op, i, j, k, m in SequenceMatcher(str.isspace, a, b, autojunk=False).get_opcodes():
        if op != "equal":
            yield head + i, head + j, head + k, head + m


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text that was kept ("same"), deleted ("old") or added ("new")."""

    kind: Kind
    text: str


def mark_changes(outcome: Outcome) -> dict[str, list[Piece]]:
    """Return each field as pieces: same and old join to the original, same and new to the adversarial text."""
    found = patches(outcome)
    return {
        name: list(_pieces(text, [p for p in found if p.field == number]))
        for number, (name, text) in enumerate(outcome.original.fields.items())
    }


def _pieces(text: str, found: Iterable[Patch]) -> Iterator[Piece]:
    at = 0
    for patch in found:
        kept: tuple[tuple[Kind, str], ...] = (
            ("same", text[at : patch.start]),
            ("old", text[patch.start : patch.end]),
            ("new", patch.text),
        )
        yield from (Piece(kind, part) for kind, part in kept if part)
        at = patch.end
    if text[at:]:
        yield Piece("same", text[at:])
