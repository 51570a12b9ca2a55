"""Ids: a set of strings that answers 'was it there?' in twelve to 24 bytes each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import blake2b

_SMALLEST = 1 << 10  # places of an empty table; a power of two


class Ids:
    """A set of strings that keeps their 64-bit hashes alone, so that millions of ids take little memory.

    The hashes lie in a table of integers, at the first empty place from their low bits on; 0 is an empty place. Two
    different ids are taken for one with a chance of n * n / 2**65: 3 in a million for ten million ids.
    """

    __slots__ = ("_count", "_table")

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._table = array("Q", bytes(8 * _SMALLEST))
        self._count = 0
        for id in ids:
            self.add(id)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._table[_place(self._table, _hash(id))] != 0

    def add(self, id: str) -> bool:
        """Add an id; return whether it is new."""
        number = _hash(id)
        place = _place(self._table, number)
        if self._table[place]:
            return False
        self._table[place] = number
        self._count += 1
        if 3 * self._count > 2 * len(self._table):
            self._grow()
        return True

    def copy(self) -> Ids:
        out = Ids()
        out._table, out._count = self._table[:], self._count
        return out

    def _grow(self) -> None:
        """Move the hashes to a table of twice the size."""
        table = array("Q", bytes(2 * 8 * len(self._table)))
        for number in self._table:
            if number:
                table[_place(table, number)] = number
        self._table = table


def _place(table: array[int], number: int) -> int:
    """Return the place of a hash in the table, or the empty place where it belongs."""
    last = len(table) - 1
    place = number & last
    while (there := table[place]) and there != number:
        place = (place + 1) & last
    return place


def _hash(id: str) -> int:
    found = int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return found or 1  # 0 is an empty place
