"""A task is a named part of a study. It yields results wherever it runs; only the driver writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

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
    holds: tuple[str, ...] = ()  # names of what it keeps loaded: a worker that has them is preferred
    reads: Callable[[Inputs], Inputs] | None = None  # more inputs, such as data, which only the driver reads
    items: Callable[[Inputs], Items] | None = None  # what workers divide among them; the driver reads it
    alone: bool = False  # it is timed: nothing else runs beside it
    optional: bool = False  # its failure is a result with a reason, and does not fail the study
    follows: bool = False  # it is skipped if a task before it was; else that `Skipped` is its input
    vital: bool = False  # its failure ends the study at once; if it is optional too, a failing victim or a missing
    # library does not
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
