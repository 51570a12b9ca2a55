"""A claim of a paper, the steps that produce the records it is read from, and the reading of those records."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build, is_list, is_table, known_names

SIZES = ("small", "full")
Find = Callable[[Path], Mapping[str, str]]


class _Named(dict[str, str]):
    """Values by their names; a value that is not known yet is shown by its name in capitals."""

    def __missing__(self, name: str) -> str:
        return name.upper()


class Doing(Protocol):
    """A command of a step; values in braces, such as {here}, are filled in when it runs."""

    def words(self, values: Mapping[str, str]) -> list[str]:
        """Return the command's words as typed behind `malaprop`."""


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A command that is not a study, as it is typed."""

    line: str

    def words(self, values: Mapping[str, str]) -> list[str]:
        return [word.format_map(values) for word in shlex.split(self.line)]


@dataclass(frozen=True, slots=True)
class Order:
    """A study by its command, and its settings by their names."""

    command: str
    settings: Mapping[str, Any]

    def words(self, values: Mapping[str, str]) -> list[str]:
        cls = find_study(self.command)
        given = {name: _fill(value, values) for name, value in self.settings.items()}
        build(cls, given)  # raises on a wrong name or value before anything is run
        known = known_names(cls)
        arguments, rest = list[str](), list[str]()
        for name, value in given.items():
            option = known[name]
            if option.argument or option.placed:
                arguments += [_word(one) for one in (value if is_list(option.kind) else (value,))]
            elif is_table(option.kind):
                rest += [word for key, one in value.items() for word in (option.flag, f"{key}={_word(one)}")]
            elif isinstance(value, bool):
                rest.append(option.flag if value else f"--no-{option.flag[2:]}")
            else:
                rest += [option.flag, _word(value)]
        return [*self.command.split(), *arguments, *rest]


def order(command: str, /, **settings: Any) -> Order:
    """Make the order of a study; a setting named like a Python keyword gets an underscore behind it, as from_."""
    return Order(command, {name.removesuffix("_"): value for name, value in settings.items()})


def _fill(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return value.format_map(values)
    if isinstance(value, (tuple, list)):
        return tuple(_fill(one, values) for one in value)
    if isinstance(value, Mapping):
        return {name: _fill(one, values) for name, one in value.items()}
    return value


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_word, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStep:
    """The commands that produce one record, for each size.

    In settings {here} is the step's folder, {root} the one that holds all steps, {jobs} how many processes may work.
    `about` says for each size what data and models they are, beside the paper's. `finds` gives more values from the
    records of the steps before, such as the members of an ensemble that was chosen.
    """

    name: str
    does: Mapping[str, tuple[Doing, ...]]
    about: Mapping[str, str]
    needs: tuple[str, ...] = ()
    finds: Find | None = None

    def lines(self, size: str, root: Path, jobs: int) -> list[list[str]]:
        """Return the words of each command; empty if the step has no such size."""
        values = _Named(here=str(root / self.name), root=str(root), jobs=str(jobs))
        if self.finds is not None:
            values.update(self.finds(root))
        return [doing.words(values) for doing in self.does.get(size, ())]


def either(**sizes: Doing) -> dict[str, tuple[Doing, ...]]:
    """Give a step one command for each size."""
    return {size: (doing,) for size, doing in sizes.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the records say about a claim: our figures in words, the verdict, and the reason if it does not hold."""

    ours: str
    verdict: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One row. `read` is given the folder that holds all steps, and reads those of `steps`; without a step, `instead`
    says what there is.

    `varies` are those of its steps that decide nothing: they show why it fails, if it does.

    `fails` is written down before anything is run: what would count as a failure. Of a claim that cannot fail, for it
    is true by the way that things are made here, it is empty, and its reading says "by construction".
    """

    id: str
    claim: str
    theirs: str
    steps: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    read: Callable[[Path], Reading] | None = None
    fails: str = ""
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The claims of one paper, in its order, and the steps that they are read from."""

    letter: str
    title: str
    steps: tuple[ClaimStep, ...] = field(default=())
    claims: tuple[Claim, ...] = field(default=())
