"""Claim and Step: what a paper says, the commands that put it to the test, and how their records are read."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SIZES = ("small", "full")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Commands that make one record, for each size; {here} is the step's folder, {root} the one that holds all steps.

    `about` says for each size what data and models they are, beside the paper's.
    """

    name: str
    commands: Mapping[str, tuple[str, ...]]
    about: Mapping[str, str]
    needs: tuple[str, ...] = ()

    def lines(self, size: str, root: Path, jobs: int) -> list[list[str]]:
        """The words of each command; none where the step has no such size."""
        values = {"here": str(root / self.name), "root": str(root), "jobs": str(jobs)}
        return [[word.format(**values) for word in shlex.split(command)] for command in self.commands.get(size, ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the records say: our figures in words, and the verdict."""

    ours: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One row. `read` is given the folder that holds all steps; without a step, `instead` says what there is."""

    id: str
    claim: str
    theirs: str
    step: str = ""
    read: Callable[[Path], Reading] | None = None
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The claims of one paper, in its order, and the steps that they are read from."""

    letter: str
    title: str
    steps: tuple[Step, ...] = field(default=())
    claims: tuple[Claim, ...] = field(default=())
