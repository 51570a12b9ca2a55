"""Random numbers of a training: each step draws from a seed of its own, so that a killed one can go on exactly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from malaprop.core.seeds import generator
from malaprop.core.text import Ints


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch within the block, and restore its random state behind it."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


def reseed(seed: int, step: int) -> None:
    """Seed torch for a step, so that its random numbers depend on the seed and the step alone."""
    torch.manual_seed(int(generator(seed, "step", str(step)).integers(1 << 62)))


class RowOrder:
    """Which rows each step reads: every pass in an order of its own, known from the seed and the step alone."""

    def __init__(self, rows: int, batch: int, seed: int) -> None:
        self.rows, self.size, self.seed = rows, min(batch, rows), seed
        self.steps = rows // self.size  # of a pass; the last rows that fill no batch wait for the next
        self._known: tuple[int, Ints] | None = None

    def rows_of(self, step: int) -> Ints:
        number, at = divmod(step, self.steps)
        if self._known is None or self._known[0] != number:
            self._known = (number, generator(self.seed, "pass", str(number)).permutation(self.rows))
        return self._known[1][at * self.size : (at + 1) * self.size]
