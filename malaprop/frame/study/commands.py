"""The table of commands: name, one line of help, and place of each. A command is imported when it is used.

A command is a settings class of a study, a function that typer takes, or a typer application. Another package adds one
with an entry point in the group `malaprop.command`, whose name is the command's: `"study mine" = "my_package:Mine"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.core.settings import read_toml
from malaprop.frame.rooms import Command, added, groups
from malaprop.frame.study.settings import build, is_table, known_names, rename

if TYPE_CHECKING:
    from malaprop.frame.study.study import Study


COMMANDS: dict[str, Command] = added("commands")
GROUPS = groups()


ELSEWHERE = {
    "bench": "malaprop-bench, which is the folder bench of Malaprop's repository"
}  # commands of other packages of ours


@cache
def plugins() -> dict[str, Command]:
    """Return the commands of other packages."""
    from importlib.metadata import entry_points

    found = entry_points(group="malaprop.command")
    return {one.name: Command(one.value, (one.dist and one.dist.metadata["Summary"]) or one.value) for one in found}


def find(name: str) -> Any:
    """Import the settings class, function or typer application of a command."""
    command = COMMANDS.get(name) or plugins().get(name)
    if command is None:
        raise unknown("command", name, COMMANDS)
    return command.load()


def find_study(name: str) -> type[Study]:
    """Return the settings class of a study by its command; `oneword` is short for `study oneword`."""
    known = {**COMMANDS, **plugins()}
    found = find(name if name in known else f"study {name}" if f"study {name}" in known else name)
    if not is_dataclass(found):
        raise SettingError(f"malaprop {name} is not a study and cannot run from settings; use the command line")
    return found  # type: ignore[return-value]


def who_has(option: str, group: str = "") -> list[str]:
    """Return the commands of a group (without one: the studies) that have an option, to correct a user."""
    name = option.lstrip("-").replace("-", "_")
    begin = "study" if group not in GROUPS else group
    mates = [command for command in COMMANDS if command.startswith(f"{begin} ")]
    classes = {command: COMMANDS[command].load() for command in mates}
    return [
        command
        for command, cls in classes.items()
        if is_dataclass(cls) and name in known_names(cls)  # type: ignore[arg-type]
    ]


def read_study(path: Path, more: Mapping[str, Any] | None = None) -> Study:
    """Read a study from a TOML file: `command = "study oneword"`, then settings by name; `more` overrides them.

    A study.toml that a study wrote to its folder resumes that study. Tables only group settings for readers.
    """
    from malaprop.frame.study.agreement import MARKS
    from malaprop.frame.study.study import FILE
    from malaprop.frame.tasks.events import LOG

    raw = read_toml(path)
    raw.pop(MARKS, None)  # hashes of what files held then
    name = raw.pop("command", None)
    if not isinstance(name, str):
        raise SettingError(f'{path} does not say which study it is; begin it with command = "study oneword"')
    cls = find_study(name)
    tables = {name for name, one in known_names(cls).items() if is_table(one.kind)}
    values: dict[str, Any] = {}
    for key, value in raw.items():
        values |= value if isinstance(value, Mapping) and key not in tables else {key: value}
    for key, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one.startswith("<") and one.endswith(">"):
                raise SettingError(
                    f"{path}: {key} was an object of Python ({one}), which no file can hold; run it there"
                )
    if "out" not in values and path.name == FILE and (path.parent / LOG).is_file():
        values["out"] = path.parent
    return build(cls, {**rename(cls, values), **rename(cls, more or {})})
