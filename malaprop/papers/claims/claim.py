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


class _Placeholders(dict[str, str]):
    """Values for the placeholders of a command; an unknown one is replaced by its name in capitals."""

    def __missing__(self, name: str) -> str:
        return name.upper()


class StepCommand(Protocol):
    """A command of a step; placeholders in braces, such as {here}, are filled in when it runs."""

    def words(self, values: Mapping[str, str]) -> list[str]:
        """Return the command's words as typed behind `malaprop`."""


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A command that is not a study, as a user types it."""

    line: str

    def words(self, values: Mapping[str, str]) -> list[str]:
        return [word.format_map(values) for word in shlex.split(self.line)]


@dataclass(frozen=True, slots=True)
class StudyCommand:
    """A study by its command, with its settings by name; a wrong name or value raises before anything runs."""

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


def study_command(command: str, /, **settings: Any) -> StudyCommand:
    """Return the command of a study; a setting named like a Python keyword gets an underscore behind it, as from_."""
    return StudyCommand(command, {name.removesuffix("_"): value for name, value in settings.items()})


def _fill(value: Any, values: Mapping[str, str]) -> Any:
    """Return the value with the placeholders in all its strings filled in."""
    if isinstance(value, str):
        return value.format_map(values)
    if isinstance(value, (tuple, list)):
        return tuple(_fill(one, values) for one in value)
    if isinstance(value, Mapping):
        return {name: _fill(one, values) for name, one in value.items()}
    return value


def _word(value: Any) -> str:
    """Return a setting's value as typed on the command line."""
    if isinstance(value, tuple):
        return ",".join(map(_word, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStep:
    """The commands that produce one record, for each size.

    In settings {here} is the step's folder, {root} the folder of all steps, {jobs} the number of processes. `about`
    describes for each size the data and models that stand in for the paper's. `finds` reads more placeholders from the
    records of earlier steps, such as the members of a chosen ensemble.
    """

    name: str
    does: Mapping[str, tuple[StepCommand, ...]]
    about: Mapping[str, str]
    needs: tuple[str, ...] = ()
    finds: Find | None = None

    def lines(self, size: str, root: Path, jobs: int) -> list[list[str]]:
        """Return the words of each command; empty if the step has no such size."""
        values = _Placeholders(here=str(root / self.name), root=str(root), jobs=str(jobs))
        if self.finds is not None:
            values.update(self.finds(root))
        return [doing.words(values) for doing in self.does.get(size, ())]


def either(**sizes: StepCommand) -> dict[str, tuple[StepCommand, ...]]:
    """Return one command for each size, as a step's `does`."""
    return {size: (doing,) for size, doing in sizes.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading a claim from the records: our figures in words, the verdict, and why it fails.

    `brief` is our figure in a few words, for the table of all claims. `published` is False where the claim has a run
    with the paper's settings that has no record, so that a run with our settings was read in its place.
    """

    ours: str
    verdict: str
    why: str = ""
    brief: str = ""
    published: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim of a paper. `read` takes the folder of all steps and reads the records of `steps`.

    A claim without a step has a remark in `instead`. `varies` names the steps with varied settings: no verdict rests on
    them, but they show why the claim fails. `fails` says what would count as a failure and is written before any run;
    it is empty where the claim cannot fail by the way it is built, and the verdict is then "by construction". `where`
    names the paper's table or section and its setting, `differs` every difference of ours, `differs_ours` those of the
    run with our settings where there is one with the paper's too, and `theirs_brief` the paper's figure in a few words;
    all four are in by_paper/differences.py.
    """

    id: str
    claim: str
    theirs: str
    steps: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    read: Callable[[Path], Reading] | None = None
    fails: str = ""
    instead: str = ""
    where: str = ""
    differs: tuple[str, ...] = ()
    differs_ours: tuple[str, ...] = ()
    theirs_brief: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The claims of one paper, in its order, and the steps whose records they are read from."""

    letter: str
    title: str
    steps: tuple[ClaimStep, ...] = field(default=())
    claims: tuple[Claim, ...] = field(default=())
