"""One random generator for each (seed, example), so that order, width and sharding change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain, count
from math import ceil

import numpy as np

from malaprop.core.errors import SettingError

_HALF = (1 << 32) - 1  # the lower half of what PCG64 gives at a time


def choose_some(rng: np.random.Generator, chance: float, sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The places that are drawn with this chance, in order, and of each a number below its size.

    They are those of `rng.random() < chance`, and then `rng.integers(size)`, of a generator that drew nothing yet. The
    two cost more by the call than what they compute, so this is several times as fast.
    """
    border = ceil(chance * (1 << 53)) << 11
    many, bits = len(sizes) + len(sizes) // 4 + 8, rng.bit_generator
    take = chain.from_iterable(bits.random_raw(many).tolist() for _ in count()).__next__
    places, numbers, kept = list[int](), list[int](), -1  # the upper half of a draw is kept for the next number
    for place, size in enumerate(sizes):
        if take() >= border:
            continue
        product = 0
        while size > 1:
            if kept < 0:
                whole = take()
                half, kept = whole & _HALF, whole >> 32
            else:
                half, kept = kept, -1
            product = half * size
            if product & _HALF >= (_HALF + 1) % size:  # else some numbers would come more often
                break
        places.append(place)
        numbers.append(product >> 32)
    return places, numbers


def generator(seed: int, *names: str) -> np.random.Generator:
    """A generator that depends on the seed and the names alone."""
    if seed < 0:
        raise SettingError(f"seed must be 0 or more, got {seed}")
    digest = blake2b("\x1f".join(names).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    size = 4 * max(1, -(-seed.bit_length() // 32))
    words = np.frombuffer(seed.to_bytes(size, "little") + digest, "<u4")  # a list of numbers takes twice the time
    return np.random.Generator(np.random.PCG64(words))
