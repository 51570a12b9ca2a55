"""Task: a named part of a study. It yields what it finds, wherever it runs; the driver alone writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from malaprop.frame.tasks.outputs import Output

Inputs = Mapping[str, Any]
Work = Callable[..., Iterator[Any]]  # (desk, inputs) -> pieces; with items (desk, inputs, share) -> pieces


class Item(Protocol):
    """One of the things that a task works through, such as an example."""

    @property
    def id(self) -> str: ...


class Items(Protocol):
    """All the things that a task works through: a `Dataset`, a `Stream`, or anything that can be counted."""

    def __iter__(self) -> Iterator[Item]: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A named part of a study.

    `work` is a function of a module or a method of the study's settings, so that it can be sent to another process. It
    is called with the desk where it runs, the values of the tasks it comes `after`, and, where the task has `items`, a
    `Share` of them; it yields pieces, which its `output` writes. It may also yield a `Note`, which is shown and not
    kept, or `Skipped`, which ends it.
    """

    name: str  # its folder below the study's, as runs/BERT/pwws
    work: Work
    output: Output
    after: tuple[str, ...] = ()  # the tasks whose values it is given, by their names
    victims: Mapping[str, Any] = field(default_factory=dict)  # models as the user named them; given like values
    holds: tuple[str, ...] = ()  # what it keeps loaded: a worker that has it already is asked first
    reads: Callable[[Inputs], Inputs] | None = None  # more values, such as data, which the driver alone reads
    items: Callable[[Inputs], Items] | None = None  # what can be shared out among workers; read by the driver too
    alone: bool = False  # it is timed: nothing else runs beside it
    optional: bool = False  # its failure is a result with a reason, and does not fail the study
    follows: bool = False  # where a task before it was skipped, so is this one; else it is given the `Skipped`
    vital: bool = False  # its failure ends the study at once; if it is optional too, a victim that fails or a library
    # that is missing does not
    at: str | None = None  # its folder below the study's, where that is not its name; "." is the study's own

    def folder(self, root: Path) -> Path:
        """Where its output lies, in the study's folder."""
        return root / (self.name if self.at is None else self.at)


_SAID = ("name", "part", "labels", "fields", "fingerprint", "drawn_from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What is said of all items of a task to those who work on a share of them."""

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
        """Of a dataset all of it; of a plain list its length."""
        said = {name: getattr(items, name) for name in _SAID if hasattr(items, name)}
        return cls(n=len(items), **said)


@dataclass(frozen=True, slots=True)
class Share:
    """The items that one worker is to do, and what they are a share of."""

    items: Iterable[Any]
    whole: Outline


Plan = Mapping[str, Task]


def plan_of(tasks: Iterable[Task]) -> Plan:
    """The tasks by their names; each stands behind those it comes after."""
    plan: dict[str, Task] = {}
    for task in tasks:
        assert task.name not in plan, f"two tasks are called {task.name}"
        assert plan.keys() >= set(task.after), f"{task.name} is planned before {set(task.after) - plan.keys()}"
        plan[task.name] = task
    return plan
