"""Variants: a base text and its edits, the unit that victims score. Strings are made only where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.core.text import Ints, Text

_NONE = np.empty(0, np.int64)


def runs(starts: Ints, sizes: Ints) -> Ints:
    """Concatenate the ranges start, start + 1, ... of `size` numbers each."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(int(ends[-1]) if len(ends) else 0)


@dataclass(frozen=True, slots=True, eq=False)
class Variants:
    """Many texts as edits of one base text: edit e puts words[e] in slots[e] of variant rows[e].

    rows=None is the fast path: edit e is variant e. Otherwise a variant may have several edits or none, and `many` says
    how many variants there are.
    """

    base: Text
    slots: Ints
    words: Ints
    rows: Ints | None = None
    many: int = 0

    @property
    def count(self) -> int:
        return len(self.slots) if self.rows is None else self.many

    @classmethod
    def itself(cls, base: Text) -> Variants:
        """Return the base alone, as one variant without edits."""
        return cls(base, _NONE, _NONE, _NONE, 1)

    @classmethod
    def at(cls, base: Text, slot: int, words: Ints) -> Variants:
        """Return a variant for each word, all in one slot."""
        return cls(base, np.full(len(words), slot, np.int64), words)

    @classmethod
    def each(cls, base: Text, slots: Ints, words: Sequence[Ints]) -> Variants:
        """Return a variant for each word of each slot, one edit a variant."""
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        return cls(base, np.repeat(slots, sizes), np.concatenate(words) if len(words) else _NONE)

    @classmethod
    def between(cls, base: Text, others: Sequence[Text]) -> Variants:
        """Return whole texts of the same slots as edits of the base."""
        if not others:
            return cls(base, _NONE, _NONE, _NONE, 0)
        grid = np.stack([t.words for t in others])
        rows, slots = np.nonzero(grid != base.words)
        return cls(base, slots, grid[rows, slots], rows, len(others))

    def first(self, count: int) -> Variants:
        """Return the first `count` variants."""
        if count >= self.count:
            return self
        if self.rows is None:
            return Variants(self.base, self.slots[:count], self.words[:count])
        kept = self.rows < count
        return Variants(self.base, self.slots[kept], self.words[kept], self.rows[kept], count)

    def keep(self, flags: NDArray[np.bool_]) -> Variants:
        """Return the variants whose flag is true, in the same order."""
        if flags.all():
            return self
        if self.rows is None:
            return Variants(self.base, self.slots[flags], self.words[flags])
        edits = flags[self.rows]
        place = np.cumsum(flags) - 1
        return Variants(self.base, self.slots[edits], self.words[edits], place[self.rows[edits]], int(flags.sum()))

    def changes(self, origin: Text) -> Ints:
        """Count the slots of each variant that differ from the origin."""
        differs = self.base.words != origin.words
        now = (self.words != origin.words[self.slots]).astype(np.int64) - differs[self.slots]
        if self.rows is None:
            return np.asarray(now + int(differs.sum()))
        out = np.full(self.many, int(differs.sum()), np.int64)
        np.add.at(out, self.rows, now)
        return out

    def pick(self, index: int) -> Text:
        parts = self.base.parts.copy()
        here = slice(index, index + 1) if self.rows is None else self.rows == index
        parts[2 * self.slots[here] + 1] = self.words[here]
        return Text(self.base.table, parts, self.base.owner, self.base.names)

    def texts(self) -> list[Text]:
        return [self.pick(i) for i in range(self.count)]


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Variants that will probably be needed next: they are scored with the others and cached; the answer is None."""

    variants: Variants
