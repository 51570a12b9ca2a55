"""The options of a victim as a user types them, behind #, and names of the Hugging Face hub."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

from malaprop.assets.folders import offline
from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError

_BETWEEN = re.compile(r"[:&]")
_NUMBERS = {"int": int, "int | None": int, "float": float}


def split_options(typed: str) -> tuple[str, dict[str, str]]:
    """Split at #: the victim before it, and the options behind it, name=value, separated by colons."""
    spec, mark, rest = typed.partition("#")
    given: dict[str, str] = {}
    for part in _BETWEEN.split(rest) if mark and rest else ():
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"options of a victim are written {spec}#name=value:name=value, got {part[:20]!r}")
        given[name.strip().replace("-", "_")] = value.strip()
    return spec, given


def convert_options(
    given: Mapping[str, str], kind: type, what: str, *, without: Collection[str] = ()
) -> dict[str, Any]:
    """Convert options to the types of a class's fields, of which some may be left out; a slash separates a list."""
    known = {field.name: str(field.type) for field in fields(kind) if field.init and _is_plain(str(field.type))}
    known = {name: type_ for name, type_ in known.items() if name not in without}
    out: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise unknown(f"option of {what}", name, known)
        if known[name].startswith("tuple"):
            out[name] = tuple(unquote(part) for part in value.split("/"))
        elif (number := _NUMBERS.get(known[name])) is not None:
            out[name] = _number(number, value, name)
        else:
            out[name] = unquote(value)
    return out


def _is_plain(kind: str) -> bool:
    return kind in ("str", "tuple[str, ...]", *_NUMBERS) or kind.startswith("Literal")


def _number(kind: type[int] | type[float], value: str, name: str) -> int | float:
    try:
        return kind(value)
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise SettingError(f"{name} must be {wanted}, got {value[:20]!r}") from None


PREFIX = "hub:"


def hub_name(typed: str) -> str:
    """Return the model's name on the hub; raise where a folder was meant, or where the hub is out of reach.

    `hub:ORG/NAME` is always of the hub; ORG/NAME is where there is no folder ORG here.
    """
    name = typed.removeprefix(PREFIX)
    if name == typed and Path(name).parent.is_dir():
        raise VictimError(f"no such folder: {typed}{_near(Path(name))}; a model of the hub is written {PREFIX}{name}")
    if offline() or _is_reachable() or _is_cached(name):
        return name
    folder = f"no such folder: {typed}, and " if name == typed else f"{typed}: "
    raise VictimError(f"{folder}the hub cannot be reached from here; give a folder with the model")


def _near(path: Path) -> str:
    """Suggest folders beside the path with similar names."""
    there = [one.name for one in path.parent.iterdir() if one.is_dir()]
    near = get_close_matches(path.name, there, n=3, cutoff=0.4)
    return f"; did you mean {' or '.join(str(path.parent / name) for name in near)}?" if near else ""


def _is_reachable() -> bool:
    from huggingface_hub.constants import ENDPOINT

    if getproxies():  # which may know names that this machine does not
        return True
    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, None)
    except OSError:
        return False
    return True


def _is_cached(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json"), str)
