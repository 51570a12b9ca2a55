"""Shards: examples on their way to workers, and what comes back undone when a worker is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from malaprop.core.errors import DataError
from malaprop.core.example import Example

LARGEST, SMALLEST = 2048, 32


class Shard:
    """Examples that one worker has; those whose outcome has come are taken off."""

    __slots__ = ("deaths", "left")

    def __init__(self, examples: Iterable[Example], deaths: int = 0) -> None:
        given = list(examples)
        self.left = {example.id: example for example in given}
        if len(self.left) < len(given):
            raise DataError("two examples share an id; outcomes could not be told apart")
        self.deaths = deaths  # workers that were lost while they had these examples

    def __len__(self) -> int:
        return len(self.left)


class Shards:
    """Cut as they are wanted: large ones while much is left, small ones at the end, so that workers finish together."""

    def __init__(self, examples: Iterable[Example], many: int, workers: int) -> None:
        self._rest: Iterator[Example] = iter(examples)
        self._many, self._share = many, 2 * max(1, workers)
        self._back: deque[Shard] = deque()
        self._over = False

    def next(self) -> Shard | None:
        """What came back first, then new ones; None: there is nothing now."""
        if self._back:
            return self._back.popleft()
        size = min(LARGEST, max(SMALLEST, self._many // self._share))
        shard = Shard(islice(self._rest, size)) if not self._over else Shard(())
        self._many = max(0, self._many - len(shard))
        self._over = not len(shard)
        return shard if len(shard) else None

    def back(self, shard: Shard) -> Example | None:
        """Takes back what a lost worker left undone; gives the example that is to blame, once that is sure.

        The first loss may be anybody's fault. From the second on the shard is halved, so that an example that kills
        its worker ends up alone; when it has done so alone, it is not tried again.
        """
        shard.deaths += 1
        rest = list(shard.left.values())
        if len(rest) == 1 and shard.deaths > 2:
            return rest[0]
        if len(rest) > 1 and shard.deaths > 1:
            half = len(rest) // 2
            self._back.extendleft((Shard(rest[half:], shard.deaths), Shard(rest[:half], shard.deaths)))
        elif rest:
            self._back.appendleft(Shard(rest, shard.deaths))
        return None
