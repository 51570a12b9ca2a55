"""Pieces: the tokens of every word and gap, cut once and kept flat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from malaprop.core.text import BREAK, Ints, Words
from malaprop.core.variants import runs

__all__ = ["Cut", "Pieces", "at_breaks", "runs"]

# Strings to token ids, one list a string, without special tokens and without an end to their length. A string may hold
# BREAK, where one field ends and the next begins: the cutter puts the model's separator tokens there (see `at_breaks`).
Cut = Callable[[list[str]], Sequence[Sequence[int]]]


def at_breaks(cut: Cut, separator: Sequence[int]) -> Cut:
    """Return a cutter that splits strings at BREAK, tokenizes the parts by `cut` and joins them by `separator`."""

    def whole(strings: list[str]) -> Sequence[Sequence[int]]:
        if not any(BREAK in string for string in strings):
            return cut(strings)
        sides = [string.split(BREAK) for string in strings]
        fresh = iter(cut([side for row in sides for side in row]))
        out = []
        for row in sides:
            tokens = list(next(fresh))
            for _ in row[1:]:
                tokens += [*separator, *next(fresh)]
            out.append(tokens)
        return out

    return whole


def _with_room(array: Ints, used: int, need: int) -> Ints:
    if need <= len(array):
        return array
    wide = np.zeros(2 * need, np.int64)
    wide[:used] = array[:used]
    return wide


class Pieces:
    """Token ids of the strings of one table of words; it grows with the table.

    Of the arrays, `flat[start[i] : start[i] + size[i]]` are the tokens of string i, and strings of equal tokens have
    equal `kind`. Only the first `known` entries mean anything, of `kind` the first `classed`.
    """

    def __init__(self, cut: Cut, table: Words) -> None:
        self.cut, self.table = cut, table
        self.known = self.end = self.classed = 0
        self.flat, self.start, self.size, self.kind = (np.zeros(1024, np.int64) for _ in range(4))
        self._kinds: dict[int | tuple[int, ...], int] = {}  # by a single token, or by all of them

    def grow(self) -> None:
        """Cut the strings that came to the table since the last call."""
        fresh = self.table.strings[self.known :]
        if not fresh:
            return
        rows = self.cut(fresh)
        assert len(rows) == len(fresh), "the cutter answers with one list a string"
        size = np.fromiter(map(len, rows), np.int64, len(rows))
        known, end = self.known + len(rows), self.end + int(size.sum())
        self.flat = _with_room(self.flat, self.end, end)
        self.start, self.size = (_with_room(a, self.known, known) for a in (self.start, self.size))
        self.flat[self.end : end] = np.fromiter(chain.from_iterable(rows), np.int64, end - self.end)
        self.size[self.known : known] = size
        self.start[self.known : known] = self.end + np.cumsum(size) - size
        self.known, self.end = known, end

    def classes(self) -> Ints:
        """Return a number for each string of the table, equal where the tokens are equal."""
        self.grow()
        fresh = slice(self.classed, self.known)
        if self.classed < self.known:
            self.kind = _with_room(self.kind, self.classed, self.known)
            put, count, flat = self._kinds.setdefault, self._kinds.__len__, self.flat
            rows = zip(self.start[fresh].tolist(), self.size[fresh].tolist(), strict=True)
            one = flat[np.minimum(self.start[fresh], len(flat) - 1)].tolist()
            keys = (o if n == 1 else tuple(flat[s : s + n].tolist()) for o, (s, n) in zip(one, rows, strict=True))
            self.kind[fresh] = [put(key, count()) for key in keys]
            self.classed = self.known
        return self.kind[: self.known]

    def tokens(self, parts: Ints) -> Ints:
        """Return the tokens of these strings, one after another."""
        return self.flat[runs(self.start[parts], self.size[parts])]
