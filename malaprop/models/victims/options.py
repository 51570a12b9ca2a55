"""Options of a victim where it is typed: http://localhost/score#send_as=inputs:batch=64, my_model:predict#batch=8."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any
from urllib.parse import unquote

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError

_BETWEEN = re.compile(r"[:&]")
_NUMBERS = {"int": int, "int | None": int, "float": float}


def split_options(typed: str) -> tuple[str, dict[str, str]]:
    """What stands before #, and the options behind it: name=value, separated by colons."""
    spec, mark, rest = typed.partition("#")
    given: dict[str, str] = {}
    for part in _BETWEEN.split(rest) if mark and rest else ():
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"options of a victim are written {spec}#name=value:name=value, got {part[:20]!r}")
        given[name.strip().replace("-", "_")] = value.strip()
    return spec, given


def convert_options(given: Mapping[str, str], kind: type, what: str) -> dict[str, Any]:
    """The options as the fields of a victim's class want them; lists are separated by slashes, and %2F is a slash."""
    known = {field.name: str(field.type) for field in fields(kind) if field.init and _is_plain(str(field.type))}
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
