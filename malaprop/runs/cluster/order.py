"""What travels between driver and workers: plain values, so that both sides need nothing but this package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from malaprop.core import errors
from malaprop.core.victim import About


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a worker needs to set itself up; `thing` and `options` are what `mp.victim` takes."""

    thing: Any
    device: str
    options: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    folder: str = ""  # the driver's working folder, entered where the worker's machine has it too
    surroundings: Mapping[str, str] = field(default_factory=dict)  # variables that name folders, such as MALAPROP_CACHE


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a worker says once it has loaded the victim: what that is, on which machine, by which version of ours."""

    about: About
    node: str
    version: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it travels: its kind by name, for exceptions of other libraries do not always survive the journey."""

    kind: str
    words: str
    node: str
    memory: bool = False  # it ran out of memory

    def error(self) -> errors.MalapropError:
        kind: type[errors.MalapropError] = getattr(errors, self.kind, errors.VictimError)
        return kind(f"{self.words} (on {self.node})")
