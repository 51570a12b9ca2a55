"""Shares: the items of a task on their way to workers, and what comes back undone when a worker is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from malaprop.core.errors import DataError
from malaprop.frame.tasks.task import Item

LARGEST, SMALLEST = 2048, 32
_CARE = 2  # times the highest price so far that an item may cost
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
        self.handed_out = 0

    @property
    def returned(self) -> bool:
        """Whether something was handed out and came back undone."""
        return bool(self._back)

    def next(self, workers: int, most: int = LARGEST) -> Portion | None:
        """What came back first, then new ones, `most` of them for so many workers; None: there is nothing now."""
        if self._back:
            return self._back.popleft()
        portion = Portion(() if self._over else islice(self._rest, min(self._size(workers), -(-most // workers))))
        self._many = max(0, self._many - len(portion))
        self.handed_out += len(portion)
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


class Groups:
    """How far tasks go through their items while a limit may end the run: all through one group, then the next.

    A group is as large as what is left will pay for, at the highest price of an item so far, and at most twice as large
    as the one before it. So little is under way when the limit is reached, and it is the same at any width.
    """

    def __init__(self, used: Callable[[], float]) -> None:
        self._used = used  # the share of the limit that is used
        self._before = 0.0
        self._price = 0.0  # of one item under all tasks
        self._size = 0
        self.front = 0  # how many items of each task may be handed out

    def advance(self, behind: int) -> None:
        """Opens the next group, behind the items that every task was given; call it when nothing is under way."""
        used = self._used()
        if self._size:
            self._price = max(self._price, (used - self._before) / self._size)
        paid = LARGEST if not self._price else int((1 - used) / (_CARE * self._price))
        self._size = min(max(1, paid), 2 * self._size or 1, LARGEST)
        self._before, self.front = used, behind + self._size
