"""The registry of what features and papers add: commands, Python names, records, wrappers, training methods, models.

A room is a package with a `ROOM` in its `__init__.py`; `malaprop.rooms` lists them. Only this module looks that table
up, by name, so that no module of the frame names a room. Importing a room's `__init__.py` imports only this module: the
things that a room adds are named as ".module:attribute", relative to the room, and loaded when they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, Literal

_TABLE = "malaprop.rooms"
Part = Literal[
    "commands",
    "python",
    "records",
    "wrappers",
    "methods",
    "augmenters",
    "models",
    "alterations",
    "neighbourhoods",
    "rankings",
    "descriptions",
    "translators",
]


def load(place: str) -> Any:
    """Import the module of "module:attribute" and return the attribute."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True, slots=True)
class Command:
    """The place of a command, "module:attribute", and its line of help."""

    place: str
    help: str

    def load(self) -> Any:
        return load(self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The contributions of one room (a feature or paper package), each by the name that users type."""

    commands: Mapping[str, Command] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)  # help of the groups that its commands belong to
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # fields of frame.records.kinds.Kind
    wrappers: Mapping[str, str] = field(default_factory=dict)  # defences that act when a victim answers
    methods: Mapping[str, str] = field(default_factory=dict)  # defences that act in training
    augmenters: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)  # kinds of models that `malaprop train` knows
    python: Mapping[str, str] = field(default_factory=dict)  # names of `import malaprop as mp`
    alterations: Mapping[str, str] = field(default_factory=dict)  # an `AlterationReader` for each kind of run
    neighbourhoods: Mapping[str, str] = field(
        default_factory=dict
    )  # perturbations of a word that tests of defences sample
    rankings: Mapping[str, str] = field(default_factory=dict)  # pages of `malaprop report --leaderboard`
    translators: Mapping[str, str] = field(default_factory=dict)  # who opens a translator by its name
    descriptions: Mapping[str, str] = field(default_factory=dict)  # further tables of `malaprop list defences`


@cache
def rooms() -> dict[str, Room]:
    """Return every room by the name of its package."""
    return {name: import_module(name).ROOM for name in import_module(_TABLE).ROOMS}


def sections() -> dict[str, tuple[str, ...]]:
    """Return the commands of each section of the help; what no section names belongs to the last one."""
    found: dict[str, tuple[str, ...]] = import_module(_TABLE).SECTIONS
    return found


def added(part: Part) -> dict[str, Any]:
    """Return what all rooms add of one kind, by name, in the order that `malaprop.rooms` gives."""
    found = {
        name: _absolute(thing, package)
        for package, room in rooms().items()
        for name, thing in getattr(room, part).items()
    }
    order: tuple[str, ...] = import_module(_TABLE).ORDER.get(part, ())
    known = [name for name in order if name in found]
    return {name: found[name] for name in [*known, *(name for name in found if name not in known)]}


def groups() -> dict[str, str]:
    """Return the help of each group of commands, in the order of their first commands."""
    found = {name: text for room in rooms().values() for name, text in room.groups.items()}
    order = dict.fromkeys(name.split()[0] for name in added("commands"))
    return {name: found[name] for name in order if name in found}


def _absolute(thing: Any, package: str) -> Any:
    """Return the thing with relative places made absolute: ".study:Audit" gets the package as a prefix."""
    if isinstance(thing, str):
        return f"{package}{thing}" if thing.startswith(".") and ":" in thing else thing
    if isinstance(thing, Command):
        return replace(thing, place=_absolute(thing.place, package))
    if isinstance(thing, tuple):
        return tuple(_absolute(one, package) for one in thing)
    if isinstance(thing, Mapping):
        return {name: _absolute(one, package) for name, one in thing.items()}
    return thing


def rank(name: str) -> int:
    """Return the place of a kind of record among all; those that `malaprop.rooms` does not name come last."""
    order: tuple[str, ...] = import_module(_TABLE).ORDER["records"]
    return order.index(name) if name in order else len(order)
