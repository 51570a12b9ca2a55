"""Constraints on edits: how much of a text may change. Array work, done before the victim is queried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Ints
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxShare:
    """At most this share of the words in fields that may change differs from the original, and at least one may."""

    share: float = 0.2
    up: bool = False  # round up: 20% of 14 words are 3, not 2
    least: int = 1  # words that may change whatever the share
    stage: ClassVar[Literal["edit"]] = "edit"

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise SettingError(f"MaxShare.share must lie in (0, 1], got {self.share}")
        if self.least < 1:
            raise SettingError(f"MaxShare.least must be at least 1, got {self.least}")

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        most = words_within(self.share, len(trial.open()), up=self.up)
        return variants.changes(trial.origin) <= max(self.least, most)


MaxChanged = MaxShare  # the name under which `malaprop.attacks` also has it; records keep the first


def words_within(share: float, words: int, *, up: bool = False) -> int:
    """Return the number of words in a share of them, rounded down or up; at least one."""
    exact = share * words
    return max(1, int(np.ceil(exact - 1e-9) if up else np.floor(exact + 1e-9)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxWords:
    """At most this many words differ from the original."""

    count: int
    stage: ClassVar[Literal["edit"]] = "edit"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SettingError(f"MaxWords.count must be at least 1, got {self.count}")

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        return variants.changes(trial.origin) <= self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class OncePerSlot:
    """A slot that was changed is not changed again."""

    stage: ClassVar[Literal["edit"]] = "edit"

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        base, origin = variants.base.words, trial.origin.words
        again = (base != origin)[variants.slots] & (variants.words != base[variants.slots])
        if variants.rows is None:
            return np.asarray(~again)
        fine = np.ones(variants.many, np.bool_)
        fine[variants.rows[again]] = False
        return fine


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxCharacters:
    """At most this many character edits (Levenshtein distance, summed over the words) from the original."""

    count: int = 30
    stage: ClassVar[Literal["edit"]] = "edit"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SettingError(f"MaxCharacters.count must be at least 1, got {self.count}")

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        if _bound_edits(trial, variants) <= self.count:
            return np.ones(variants.count, np.bool_)
        return _count_edits(trial, variants) <= self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxCharacterShare:
    """Character edits (Levenshtein distance, summed over the words) are at most this share of the characters in the
    fields that may change, white space left out; one is always allowed."""

    share: float = 0.1
    stage: ClassVar[Literal["edit"]] = "edit"

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise SettingError(f"MaxCharacterShare.share must lie in (0, 1], got {self.share}")

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        many = len("".join(trial.shown(trial.origin).split()))
        return _count_edits(trial, variants) <= max(1, int(self.share * many + 1e-9))


def _bound_edits(trial: Trial, variants: Variants) -> int:
    """Return an upper bound of the character edits of the variants, by the lengths of their words alone.

    The distance of two words is at most the length of the longer one. This bound settles most steps of a search
    without computing a distance.
    """
    strings, first = trial.origin.table.strings, trial.origin.words.tolist()
    changed = variants.base.changed(trial.origin)
    slots = [*changed.tolist(), *variants.slots.tolist()]
    words = [*variants.base.words[changed].tolist(), *variants.words.tolist()]
    longest: dict[int, int] = {}
    for slot, word in zip(slots, words, strict=True):
        longest[slot] = max(longest.get(slot, len(strings[first[slot]])), len(strings[word]))
    return sum(longest.values())


def _count_edits(trial: Trial, variants: Variants) -> Ints:
    """Count the character edits of each variant."""
    origin, base = trial.origin, variants.base
    first, now = origin.words.tolist(), base.words.tolist()
    spent = {slot: _distance(trial, first[slot], now[slot]) for slot in base.changed(origin).tolist()}
    edits = zip(variants.slots.tolist(), variants.words.tolist(), strict=True)
    costs = np.asarray([_distance(trial, first[s], word) - spent.get(s, 0) for s, word in edits], np.int64)
    total = sum(spent.values())
    if variants.rows is None:
        return costs + total
    return total + np.bincount(variants.rows, costs, variants.many).astype(np.int64)


def _distance(trial: Trial, one: int, two: int) -> int:
    notes, strings = trial.origin.table.notes, trial.origin.table.strings
    key = ("distance", one, two)
    found: int | None = notes.get(key)
    if found is None:
        found = notes[key] = levenshtein(strings[one], strings[two])
    return found


def levenshtein(one: Sequence[str], two: Sequence[str]) -> int:
    """Return the least number of insertions, deletions and substitutions between two sequences.

    Common beginnings and ends are skipped first, for speed.
    """
    begin = _count_alike(one, two)
    one, two = one[begin:], two[begin:]
    end = _count_alike(one[::-1], two[::-1])
    one, two = one[: len(one) - end], two[: len(two) - end]
    if not one or not two:
        return len(one) + len(two)
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        corner, row[0] = row[0], i
        for j, b in enumerate(two, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (a != b))
    return row[-1]


def _count_alike(one: Sequence[str], two: Sequence[str]) -> int:
    """Return the length of the common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
