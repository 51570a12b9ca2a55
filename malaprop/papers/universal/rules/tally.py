"""Sum the effects of replacements rule by rule, and shrink the means of rules that were measured seldom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from malaprop.core.text import Ints, Words

Doubles = NDArray[np.float64]
_BITS = 24  # of a word's id in a rule's key
_MASK = (1 << _BITS) - 1
_LARGEST = 1 << 21  # replacements held before they are added up


class Sums(NamedTuple):
    """One entry for each rule, by rising key: its count, and the sums of its changes and of their squares."""

    keys: Ints
    many: Ints
    total: Doubles
    square: Doubles

    @property
    def labels(self) -> Ints:
        return self.keys >> 2 * _BITS

    @property
    def words(self) -> Ints:
        return (self.keys >> _BITS) & _MASK

    @property
    def others(self) -> Ints:
        return self.keys & _MASK

    @property
    def mean(self) -> Doubles:
        return self.total / np.maximum(self.many, 1)


NOTHING = Sums(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


def rule_keys(labels: Ints | int, words: Ints, others: Ints) -> Ints:
    return np.asarray((labels << 2 * _BITS) | (words << _BITS) | others, np.int64)


def add_sums(parts: Sequence[Sums]) -> Sums:
    """Add the parts rule by rule, in the order given, so that the same parts give the same sums."""
    parts = [part for part in parts if len(part.keys)]
    if not parts:
        return NOTHING
    keys, place = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    count = np.zeros(len(keys), np.int64)
    np.add.at(count, place, np.concatenate([part.many for part in parts]))
    total, square = (np.concatenate([part[i] for part in parts]) for i in (2, 3))
    return Sums(keys, count, *(np.bincount(place, x, len(keys)).astype(np.float64) for x in (total, square)))


class RuleTally:
    """Accumulates the measured replacements of many texts; `lexicon` numbers their words."""

    def __init__(self, lexicon: Words | None = None) -> None:
        self.lexicon = Words() if lexicon is None else lexicon
        self._parts: list[Sums] = []
        self._held = 0

    def add(self, label: int, words: Ints, others: Ints, changes: Doubles) -> None:
        """Add the changes that replacing words[i] by others[i] made in a text of this label."""
        ones = np.ones(len(words), np.int64)
        self._take(Sums(rule_keys(label, words, others), ones, changes, changes * changes))

    def merge(self, sums: Sums, strings: Sequence[str]) -> None:
        """Add the sums of another tally, whose lexicon holds these strings."""
        ids = self.lexicon.ids(strings)
        self._take(Sums(rule_keys(sums.labels, ids[sums.words], ids[sums.others]), *sums[1:]))

    def _take(self, part: Sums) -> None:
        self._parts.append(part)
        self._held += len(part.keys)
        if self._held > _LARGEST and len(self._parts) > 1:
            self._parts = [add_sums(self._parts)]
            self._held = len(self._parts[0].keys) // 2  # so that a tally of very many rules is not added up each time

    def sums(self) -> Sums:
        self._parts = [add_sums(self._parts)]
        self._held = len(self._parts[0].keys)
        return self._parts[0]


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """Shrinks the means of rules with few counts towards zero: salience = mean x count / (count + strength).

    Changes are taken for draws around each rule's own mean with the variance `within`, and those means for draws around
    zero with the variance `between`; the best guess of a rule's mean is then the one above, with strength within /
    between. Both are estimated from all rules by moments.
    """

    strength: float
    within: float | None = None
    between: float | None = None

    @classmethod
    def fit(cls, sums: Sums) -> Shrinkage:
        if not len(sums.keys):
            return cls(0.0)
        count = sums.many.astype(np.float64)
        spread = float(np.maximum(sums.square - sums.total * sums.mean, 0).sum())
        free = float((count - 1).sum())
        if free < 1:
            return cls(1.0)  # each rule seen once: effect and noise cannot be separated, so each is halved
        within = spread / free
        between = float((count * sums.mean**2).sum() - len(count) * within) / float(count.sum())
        if within <= 0:
            return cls(0.0, within, max(between, 0.0))
        floor = within / 1e6  # where the rules' variance is noise alone, shrink them to almost nothing
        return cls(within / max(between, floor), within, max(between, 0.0))

    def apply(self, sums: Sums) -> Doubles:
        return np.asarray(sums.total / (sums.many + self.strength))
