"""One random generator for each (seed, example), so that order, width and sharding change nothing."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from malaprop.core.errors import SettingError


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return a random generator that depends on the seed and the names alone."""
    if seed < 0:
        raise SettingError(f"seed must be 0 or more, got {seed}")
    digest = blake2b("\x1f".join(names).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    size = 4 * max(1, -(-seed.bit_length() // 32))
    words = np.frombuffer(seed.to_bytes(size, "little") + digest, "<u4")  # a list of numbers takes twice the time
    return np.random.Generator(np.random.PCG64(words))
