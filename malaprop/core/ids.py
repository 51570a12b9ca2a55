"""Ids: a set of strings that answers 'was it there?' in eight bytes each."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_FRESH = 1 << 14  # ids kept as they come, before they join the sorted array


class Ids:
    """A set of strings that keeps their 64-bit hashes alone, so that millions of ids take little memory.

    Two different ids are taken for one with a chance of n * n / 2**65: 3 in a million for ten million ids.
    """

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._old: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._new: set[int] = set()
        for id in ids:
            self.add(id)

    def __len__(self) -> int:
        return len(self._old) + len(self._new)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._holds(_hash(id))

    def add(self, id: str) -> bool:
        """Add an id; return whether it is new."""
        number = _hash(id)
        if self._holds(number):
            return False
        self._new.add(number)
        if len(self._new) >= max(_FRESH, len(self._old) // 16):
            fresh = np.fromiter(self._new, np.uint64, len(self._new))
            self._old = np.sort(np.concatenate([self._old, fresh]))
            self._new = set()
        return True

    def copy(self) -> Ids:
        out = Ids()
        out._old, out._new = self._old, set(self._new)
        return out

    def _holds(self, number: int) -> bool:
        if number in self._new:
            return True
        place = int(np.searchsorted(self._old, np.uint64(number)))
        return place < len(self._old) and int(self._old[place]) == number


def _hash(id: str) -> int:
    return int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
