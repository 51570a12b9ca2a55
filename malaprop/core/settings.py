"""Settings: dataclasses to plain values and back, TOML in and out, dotted overrides; unknown keys are refused."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError

EXPRESSION = "re:"  # how a value begins that is a regular expression


def plain(value: Any) -> Any:
    """Turn a part into plain values: a dataclass becomes a table with the name of its class under `kind`.

    A field whose metadata hold `record=False` is left out: it follows from the data.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.metadata.get("record", True)}
        return {"kind": type(value).__name__, **plain(fields)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return [plain(v) for v in items]
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_scalar(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    return _quoted(str(value))


def _quoted(string: str) -> str:
    """JSON's escapes are TOML's, but TOML also wants DEL escaped and cannot carry lone surrogates."""
    carried = string.encode("utf-8", "replace").decode()
    return json.dumps(carried, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key) else _quoted(key)


def to_toml(values: Mapping[str, Any]) -> str:
    """Write plain values as TOML; tables of the first level become sections."""
    top = {k: v for k, v in values.items() if v is not None}
    lines = [f"{_key(k)} = {_scalar(v)}" for k, v in top.items() if not isinstance(v, Mapping)]
    for name, table in top.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{_key(name)}]", *(f"{_key(k)} = {_scalar(v)}" for k, v in table.items() if v is not None)]
    return "\n".join(lines) + "\n"


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"no such file: {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is not TOML: {error}") from None


def parse_value(text: str) -> Any:
    """Parse one value of an override: as TOML where it parses, `none` as None (which TOML lacks), else as a string.

    True and False are also read as Python writes them, because names of defended victims hold them so.
    """
    if text.lower() == "none":
        return None
    if text in ("True", "False"):
        return text == "True"
    try:
        found = tomllib.loads(f"x = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return found["x"] if len(found) == 1 else text


def split_list(text: str) -> list[str]:
    """Split values at commas; a regular expression (re:...) takes the rest of the text, commas included."""
    head, *rest = re.split(rf"(?:^|,)\s*(?={EXPRESSION})", text, maxsplit=1)
    return [*(part.strip() for part in head.split(",") if part.strip()), *rest]


def overrides(pairs: list[str]) -> dict[str, Any]:
    """Parse `name=value` pairs into keyword arguments."""
    out: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SettingError(f"an override is written name=value, got {pair!r}")
        out[name.strip().replace("-", "_")] = parse_value(value.strip())
    return out


def call(make: Callable[..., Any], settings: Mapping[str, Any], what: str) -> Any:
    """Call a recipe or part with settings by name; raise on a name that it does not take, listing those it does."""
    import inspect

    known = inspect.signature(make).parameters
    for name in settings:
        if name not in known:
            raise unknown(f"setting of {what}", name, [*known])
    try:
        return make(**settings)
    except (TypeError, ValueError) as error:  # a value of the wrong kind, found where it is first used
        for name, value in settings.items():
            if _is_number(known[name].default) and not _is_number(value):
                raise SettingError(f"{what} needs a number for {name}, got {value!r}") from None
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        raise SettingError(f"{what} cannot take {given}: {error}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def first_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any], where: str = "") -> str | None:
    """Describe the first setting that differs in one line, None where none does; at the top `theirs` may hold more."""
    for key in dict.fromkeys((*ours, *(theirs if where else ()))):
        name, a, b = f"{where}{key}", ours.get(key), theirs.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if (found := first_difference(a, b, f"{name}.")) is not None:
                return found
        elif a != b:
            return f"{name} is {a!r} here and {b!r} there"
    return None
