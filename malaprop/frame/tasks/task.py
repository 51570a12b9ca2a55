"""A task is a named part of a study. It yields results wherever it runs; only the driver writes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from malaprop.core.errors import DataError
from malaprop.frame.tasks.outputs import Output

Inputs = Mapping[str, Any]
Work = Callable[..., Iterator[Any]]  # (context, inputs) -> pieces; with items (context, inputs, share) -> pieces


class Item(Protocol):
    """One thing that a task works on, such as an example."""

    @property
    def id(self) -> str: ...


class Items(Protocol):
    """All things that a task works on: a `Dataset`, a `Stream`, or any sized iterable of items."""

    def __iter__(self) -> Iterator[Item]: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A named part of a study.

    `work` is a module's function or a method of the study's settings, so that it can be sent to another process. It is
    called with a `WorkerContext`, the inputs (the values of the tasks it comes `after`, its victims, what it `reads`)
    and, if the task has `items`, a `Share` of them. It yields pieces, which the executor writes to `output`. It may
    also yield a `Note`, which is shown and not kept, or `Skipped`, which ends the task.
    """

    name: str  # also its folder below the study's, such as runs/BERT/pwws
    work: Work
    output: Output
    after: tuple[str, ...] = ()  # names of the tasks whose values are its inputs
    victims: Mapping[str, Any] = field(default_factory=dict)  # models as the user named them; inputs, too
    holds: tuple[str, ...] = ()  # models that a worker keeps loaded after it; the next task that names them goes there
    reads: Callable[[Inputs], Inputs] | None = None  # more inputs, such as data, which only the driver reads
    items: Callable[[Inputs], Items] | None = None  # what workers divide among them; the driver reads it
    alone: bool = False  # it is timed, so no other task runs at the same time
    optional: bool = False  # its failure is a result with a reason, and does not fail the study
    follows: bool = False  # skip it if a task that it comes `after` was skipped; otherwise its input is that `Skipped`
    vital: bool = (
        False  # its failure ends the study at once; if `optional` too, not for a failing victim or a missing library
    )
    quiet: bool = False  # nothing is shown when it is done, as its notes say what it found
    at: str | None = None  # its folder below the study's if that is not its name; "." is the study's own

    def folder(self, root: Path) -> Path:
        """Return the folder of its output, below the study's folder `root`."""
        return root / (self.name if self.at is None else self.at)


_SAID = ("name", "part", "labels", "fields", "fingerprint", "drawn_from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The description of all items of a task, for workers that see only a share of them."""

    n: int
    name: str = ""
    part: str = ""
    labels: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    fingerprint: str = ""
    drawn_from: int = 0

    def __len__(self) -> int:
        return self.n

    @classmethod
    def of(cls, items: Any) -> Outline:
        """Describe a dataset by its attributes, a plain list by its length."""
        said = {name: getattr(items, name) for name in _SAID if hasattr(items, name)}
        return cls(n=len(items), **said)


@dataclass(frozen=True, slots=True)
class Share:
    """The items for one worker, and the description of all items."""

    items: Iterable[Any]
    whole: Outline


Plan = Mapping[str, Task]


def plan_of(tasks: Iterable[Task]) -> Plan:
    """Return the tasks by name, in order; each comes behind those it depends on."""
    plan: dict[str, Task] = {}
    for task in tasks:
        assert task.name not in plan, f"two tasks are called {task.name}"
        assert plan.keys() >= set(task.after), f"{task.name} is planned before {set(task.after) - plan.keys()}"
        plan[task.name] = task
    return plan


# --- shares: how items are divided among workers, and how those of a lost worker are handed out again


LARGEST, SMALLEST = 2048, 32  # items in a portion
IN_FLIGHT = 1 << 16  # items that all workers hold together; the driver holds them too, some 1 kB each
_CARE = 2  # safety factor on the highest cost of an item so far
KILLS = 3  # an item that killed so many workers alone is not tried again


class Portion:
    """The items that one worker was given and has not finished."""

    __slots__ = ("deaths", "left")

    def __init__(self, items: Iterable[Item], deaths: int = 0) -> None:
        given = list(items)
        self.left = {item.id: item for item in given}
        if len(self.left) < len(given):
            raise DataError("two examples share an id; outcomes could not be told apart")
        self.deaths = deaths  # workers that died while they had these items

    def __len__(self) -> int:
        return len(self.left)


class Shares:
    """Cuts items into portions: large ones first, small ones at the end, so that all workers finish together."""

    def __init__(self, items: Iterable[Item], many: int) -> None:
        self._rest: Iterator[Item] = iter(items)
        self._many = many
        self._back: deque[Portion] = deque()
        self._over = False
        self.handed_out = 0

    @property
    def returned(self) -> bool:
        """Whether a lost worker's items wait to be handed out again."""
        return bool(self._back)

    def next(self, workers: int, most: int = IN_FLIGHT) -> Portion | None:
        """Return the next portion, returned items first, or None; `most` bounds all workers' items together."""
        if self._back:
            return self._back.popleft()
        portion = Portion(() if self._over else islice(self._rest, min(self._size(workers), -(-most // workers))))
        self._many = max(0, self._many - len(portion))
        self.handed_out += len(portion)
        self._over = not len(portion)
        return portion if len(portion) else None

    def rest(self) -> Iterator[Item]:
        """Return all items that are left, read lazily: for work in this process, which cannot be lost alone."""
        self._over = True
        return self._rest

    def put(self, portion: Portion) -> None:
        """Put a portion back unchanged, to be handed out first."""
        self._back.appendleft(portion)

    def _size(self, workers: int) -> int:
        return LARGEST if workers <= 1 else min(LARGEST, max(SMALLEST, self._many // (2 * workers)))

    def back(self, portion: Portion) -> Item | None:
        """Put back the items of a lost worker; return the item that killed it, once that is certain.

        The first loss may have any cause. From the second on the portion is halved, until an item that kills its worker
        is alone in a portion; after `KILLS` losses it is not tried again.
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


class ExampleGroups:
    """Groups of examples that all tasks finish before the next group begins, while a spending limit may end the run.

    A group is as large as the rest of the budget allows at the highest cost of an item so far, and at most twice as
    large as the previous group. So few items are in flight when the limit is reached, and they are the same at any
    width.
    """

    def __init__(self, used: Callable[[], float]) -> None:
        self._used = used  # returns the used share of the limit, 0 to 1
        self._before = 0.0
        self._price = 0.0  # share of the limit that one item takes, over all tasks
        self._size = 0
        self.front = 0  # so many items of each task may be handed out

    def advance(self, behind: int) -> None:
        """Open the next group after `behind` items, which every task has handed out; call it when no job runs."""
        used = self._used()
        if self._size:
            self._price = max(self._price, (used - self._before) / self._size)
        paid = LARGEST if not self._price else int((1 - used) / (_CARE * self._price))
        self._size = min(max(1, paid), 2 * self._size or 1, LARGEST)
        self._before, self.front = used, behind + self._size
