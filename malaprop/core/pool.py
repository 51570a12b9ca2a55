"""Pool: the variants of one round, of all attacks, as a few flat arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Variants

Keys = NDArray[np.uint64]

_PLACE, _CLASS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)  # odd, from the golden ratio and sqrt(3)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # the multipliers of splitmix64
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(places: Ints, classes: Ints) -> Keys:
    """Hash each (place, class) to 64 bits. A text's key is the sum of its hashes, so an edit adds one difference."""
    x = places.astype(np.uint64) * _PLACE + classes.astype(np.uint64) * _CLASS
    x ^= x >> _30
    x *= _FIRST
    x ^= x >> _27
    x *= _SECOND
    x ^= x >> _31
    return x


class Pool:
    """The base texts, variants and edits of one round as flat arrays, so that later work is array work."""

    def __init__(self, groups: Sequence[Variants]) -> None:
        assert groups, "a round without variants has no pool"
        numbers: dict[int, int] = {}
        where = [numbers.setdefault(id(g.base), len(numbers)) for g in groups]
        bases: dict[int, Text] = {}
        for group, base in zip(groups, where, strict=True):
            bases.setdefault(base, group.base)
        self.groups = groups
        self.bases = list(bases.values())
        self.table: Words = groups[0].base.table
        assert all(base.table is self.table for base in self.bases), "a round has one table of words"
        self.counts: Ints = np.fromiter((g.count for g in groups), np.int64, len(groups))
        self.starts: Ints = np.cumsum(self.counts) - self.counts  # [group] its first variant
        self.size = int(self.counts.sum())
        self.base: Ints = np.repeat(np.asarray(where, np.int64), self.counts)  # [variant]
        self.single = all(g.rows is None for g in groups)
        if self.single:
            self.row: Ints = np.arange(self.size)  # [edit] the variant it belongs to
        else:
            self.row = np.concatenate(
                [
                    start + (np.arange(g.count) if g.rows is None else g.rows)
                    for g, start in zip(groups, self.starts.tolist(), strict=True)
                ]
            )
        self.slot: Ints = np.concatenate([g.slots for g in groups])  # [edit]
        self.word: Ints = np.concatenate([g.words for g in groups])  # [edit]
        self.parts: Ints = np.concatenate([b.parts for b in self.bases])  # all bases, flat
        self.lengths: Ints = np.fromiter((len(b.parts) for b in self.bases), np.int64, len(self.bases))
        self.offset: Ints = np.cumsum(self.lengths) - self.lengths  # [base] its first part
        self.place: Ints = self.offset[self.base[self.row]] + 2 * self.slot + 1  # [edit] the part it replaces

    def keys(self, classes: Ints | None = None) -> Keys:
        """Return one key a variant. With the victim's word classes, texts that it cannot tell apart have equal keys."""
        parts, word = (self.parts, self.word) if classes is None else (classes[self.parts], classes[self.word])
        index = np.arange(len(parts)) - np.repeat(self.offset, self.lengths)
        owners = np.fromiter((b.owner for b in self.bases), np.int64, len(self.bases))
        keys: Keys = (np.add.reduceat(mix(index, parts), self.offset) + mix(-1 - owners, owners))[self.base]
        inner = 2 * self.slot + 1
        shift = mix(inner, word) - mix(inner, parts[self.place])
        if self.single:
            return keys + shift
        np.add.at(keys, self.row, shift)
        return keys

    def texts(self, wanted: Ints) -> list[Text]:
        """Return the texts of these variants."""
        group = np.searchsorted(self.starts, wanted, side="right") - 1
        inner = wanted - self.starts[group]
        return [self.groups[g].pick(i) for g, i in zip(group.tolist(), inner.tolist(), strict=True)]
