"""Shares: the items of a task on their way to workers, and what comes back undone when a worker is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from malaprop.core.errors import DataError
from malaprop.tasks.task import Item

LARGEST, SMALLEST = 2048, 32
KILLS = 3  # workers that an item ends before it is left alone for good


class Portion:
    """Items that one worker has; those whose line has come are taken off."""

    __slots__ = ("deaths", "left")

    def __init__(self, items: Iterable[Item], deaths: int = 0) -> None:
        given = list(items)
        self.left = {item.id: item for item in given}
        if len(self.left) < len(given):
            raise DataError("two examples share an id; outcomes could not be told apart")
        self.deaths = deaths  # workers that were lost while they had these items

    def __len__(self) -> int:
        return len(self.left)


class Shares:
    """Cut as they are wanted: large ones while much is left, small ones at the end, so that workers finish together."""

    def __init__(self, items: Iterable[Item], many: int) -> None:
        self._rest: Iterator[Item] = iter(items)
        self._many = many
        self._back: deque[Portion] = deque()
        self._over = False

    def next(self, workers: int) -> Portion | None:
        """What came back first, then new ones, for so many workers; None: there is nothing now."""
        if self._back:
            return self._back.popleft()
        portion = Portion(() if self._over else islice(self._rest, self._size(workers)))
        self._many = max(0, self._many - len(portion))
        self._over = not len(portion)
        return portion if len(portion) else None

    def rest(self) -> Iterator[Item]:
        """All that is left, as it is read: for work in this process, which cannot be lost alone."""
        self._over = True
        return self._rest

    def put(self, portion: Portion) -> None:
        """Takes back what was handed out, as it is."""
        self._back.appendleft(portion)

    def _size(self, workers: int) -> int:
        return LARGEST if workers <= 1 else min(LARGEST, max(SMALLEST, self._many // (2 * workers)))

    def back(self, portion: Portion) -> Item | None:
        """Takes back what a lost worker left undone; gives the item that is to blame, once that is sure.

        The first loss may be anybody's fault. From the second on the portion is halved, so that an item that ends its
        worker is found alone; when it has done so alone, it is not tried again.
        """
        portion.deaths += 1
        rest = list(portion.left.values())
        if len(rest) == 1 and portion.deaths >= KILLS:
            return rest[0]
        if len(rest) > 1 and portion.deaths > 1:
            half = len(rest) // 2
            self._back.extendleft((Portion(rest[half:], portion.deaths), Portion(rest[:half], portion.deaths)))
        elif rest:
            self._back.appendleft(Portion(rest, portion.deaths))
        return None
