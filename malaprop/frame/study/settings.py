"""Settings classes: one frozen dataclass gives a command's options, its TOML keys and its function's keywords.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Count:
        words: int = opt(3, "How many words are counted.", min=1)
        where: Where = Where()

A field that is itself a dataclass is a group: its fields are options of the command as if they were its own, and the
class that holds the group may change their defaults. Names are flat everywhere: `--device`, `device = "cpu"` in
TOML, `device="cpu"` in Python. Options of several classes have their help and section in `vocabulary`. This module and
every module that holds settings load no model library and no numpy, so that `--help` is fast.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from keyword import iskeyword
from pathlib import Path
from shlex import quote
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.core.settings import overrides, plain, split_list
from malaprop.frame.study.vocabulary import look_up

Made = TypeVar("Made")
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", Path: "a path"}


def opt(  # noqa: PLR0913 - users set them by name
    default: Any = MISSING,
    help: str = "",
    *,
    name: str = "",
    min: float | None = None,
    choices: Sequence[str] = (),
    words: Mapping[str, Any] | None = None,
    old: Sequence[str] = (),
    argument: bool = False,
    placed: str = "",
    free: bool = False,
    repeat: bool = False,
    whole: bool = False,
    rare: bool = False,
    grows: bool = False,
    hidden: bool = False,
) -> Any:
    """Declare a field of a settings class as an option.

    Without a default it is required; without `help` it has that of the vocabulary. `name` is the option's name if it is
    not the field's, `old` are former names that still work, `words` are names for values, such as {"all": 0}.
    `argument`: it is typed without a name, as SPEC in `malaprop train SPEC`. `placed`: it may be typed both ways, and
    this is its name as an argument, as RECIPE in `malaprop attack RECIPE`. `free`: the study may be resumed with
    another value, as results on disk stay valid (speed, output, more attacks). `repeat`: the option may be given
    several times; if it takes a single value, that is an error. `whole`: values are not split at commas. `rare`: only
    `--help-all` shows it. `hidden`: no help shows it. `grows`: the study may be resumed with a longer list.
    """
    about = {
        "help": help,
        "name": name,
        "min": min,
        "choices": tuple(choices),
        "words": dict(words or {}),
        "old": tuple(old),
        "argument": argument,
        "placed": placed,
        "free": free,
        "repeat": repeat,
        "whole": whole,
        "rare": rare,
        "grows": grows,
        "hidden": hidden,
    }
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=about)
    return field(default=default, metadata=about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One setting as its class declares it; `group` is the path of fields from the class to it."""

    name: str
    attribute: str  # the field's name
    kind: Any
    default: Any  # MISSING: the option is required
    group: tuple[str, ...] = ()
    help: str = ""
    min: float | None = None
    choices: tuple[str, ...] = ()
    words: Mapping[str, Any] = field(default_factory=dict)
    old: tuple[str, ...] = ()
    argument: bool = False
    placed: str = ""
    free: bool = False
    repeat: bool = False
    whole: bool = False
    rare: bool = False
    section: str = ""
    grows: bool = False
    hidden: bool = False

    @property
    def flag(self) -> str:
        """The option as it is typed and as messages name it."""
        return self.name.upper() if self.argument else f"--{self.name.replace('_', '-')}"

    @property
    def key(self) -> str:
        """The option's name as a Python parameter; the field's name if that is a keyword such as `from`."""
        name = self.name.replace("-", "_")
        return self.attribute if iskeyword(name) else name

    def read(self, value: Any) -> Any:
        """Convert a value from the command line, a file or Python to the field's type, or raise SettingError."""
        if isinstance(value, str) and value.strip().lower() in self.words:
            return self.words[value.strip().lower()]
        try:
            made = _convert(value, self.kind, self.flag)
        except SettingError as error:
            if not self.words:
                raise
            words = " or ".join(self.words)
            raise SettingError(str(error).replace(", got ", f" or {words}, got ", 1)) from None
        if self.min is not None and made is not None and made < self.min:
            raise SettingError(f"{self.flag} must be at least {self.min}, got {made}")
        if self.choices and made is not None:
            for one in made if isinstance(made, tuple) else (made,):
                if one not in self.choices:
                    raise SettingError(f"{self.flag} takes {', '.join(self.choices)}; got {one!r}")
        return made


def core_of(kind: Any) -> Any:
    """Return the type without its `| None`."""
    if get_origin(kind) in (Union, UnionType):
        inner = [one for one in get_args(kind) if one is not type(None)]
        return inner[0] if len(inner) == 1 else kind
    return kind


def is_list(kind: Any) -> bool:
    """Return whether the type is a list of values, separated by commas on the command line."""
    return get_origin(core_of(kind)) is tuple


def is_table(kind: Any) -> bool:
    """Return whether the type is a table: `--set name=value`, which may be repeated."""
    return get_origin(core_of(kind)) is Mapping


def _convert(value: Any, kind: Any, flag: str) -> Any:
    inner = core_of(kind)
    if inner is not kind and value is None:
        return None
    if is_list(kind):
        parts = split_list(value) if isinstance(value, str) else value
        if not isinstance(parts, Sequence):
            raise SettingError(f"{flag} takes several values, got {value!r}")
        return tuple(_convert(part, get_args(inner)[0], flag) for part in parts)
    if is_table(kind):
        made = overrides(list(value)) if isinstance(value, (list, tuple)) else value
        if not isinstance(made, Mapping):
            raise SettingError(f"{flag} takes name=value, got {value!r}")
        return dict(made)
    if inner is Path and isinstance(value, (str, os.PathLike)):
        return Path(value)
    if inner in (int, float, bool):
        return _number(value, inner, flag)
    if inner is str and not isinstance(value, str):
        raise SettingError(f"{flag} takes {_KINDS[str]}, got {value!r}")
    return value  # objects are fine where the class says Any


def _number(value: Any, kind: type, flag: str) -> Any:
    wrong = SettingError(f"{flag} takes {_KINDS[kind]}, got {value!r}")
    if kind is bool:
        known = {"true": True, "false": False}
        found = known.get(str(value).lower()) if isinstance(value, (bool, str)) else None
        if found is None:
            raise wrong
        return found
    if isinstance(value, bool) or value is None:
        raise wrong
    try:
        made = kind(value)
        if isinstance(value, float) and made != value:
            raise wrong
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    return made


def options(cls: type) -> tuple[Option, ...]:
    """Return every setting of a class, including those of its groups, with the defaults that the class gives."""
    found = tuple(_options(cls, None, ()))
    names = [option.name for option in found]
    assert len(set(names)) == len(names), f"{cls.__name__} has two settings of one name: {sorted(names)}"
    return found


def _options(cls: type, given: Any, group: tuple[str, ...], free: bool = False) -> Iterator[Option]:
    """Yield the settings of a class; `given` is a group with the defaults of the class that holds it."""
    hints = get_type_hints(cls)
    for one in fields(cls):
        kind = hints[one.name]
        default = _default(one) if given is None else getattr(given, one.name)
        if is_dataclass(kind):
            held = None if default is MISSING else default
            yield from _options(kind, held, (*group, one.name), free or bool(one.metadata.get("free")))  # type: ignore[arg-type]
            continue
        name = one.metadata.get("name") or one.name
        known = look_up(name)
        about = {key: value for key, value in one.metadata.items() if key != "name"} | {"section": known.section}
        about["help"] = about.get("help") or known.help
        about["free"] = free or about.get("free", False)
        about["rare"] = known.rare or about.get("rare", False)
        yield Option(name=name, attribute=one.name, kind=kind, default=default, group=group, **about)


def _default(one: Field[Any]) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


def known_names(cls: type) -> dict[str, Option]:
    """Return the settings by every name that works: their own, former ones and the fields'."""
    known = {option.name.replace("-", "_"): option for option in options(cls)}
    more = {name: option for option in known.values() for name in (*option.old, option.attribute, option.placed)}
    return {name: option for name, option in more.items() if name} | known


def rename(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by the present names of settings; raise if two names of one setting have different values."""
    known = known_names(cls)
    made: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in values.items():
        option = known.get(name.replace("-", "_"))
        if option is not None and option.name in made and not _same(option.read(value), option.read(made[option.name])):
            first, second = _spell(option, names[option.name]), _spell(option, name)
            raise SettingError(
                f"{first} and {second} are two names of one option, and they differ: {show(made[option.name])!r} and "
                f"{show(value)!r}; give {option.flag} alone"
            )
        now = name if option is None else option.name
        made[now], names[now] = value, name
    return made


def _spell(option: Option, name: str) -> str:
    return name if name == option.placed else f"--{name.replace('_', '-')}"


def _same(left: Any, right: Any) -> bool:
    """Return whether two values are equal; data frames and arrays, whose == is no bool, only if identical."""
    try:
        return left is right or bool(left == right)
    except (TypeError, ValueError):
        return False


def build(cls: type[Made], values: Mapping[str, Any]) -> Made:
    """Make the settings from values by flat name; raise for unknown names and missing values."""
    known = {option.name: option for option in options(cls)}
    read: dict[tuple[str, ...], Any] = {}
    for name, value in rename(cls, values).items():
        if name not in known:
            raise unknown("setting", name, known)
        option = known[name]
        read[(*option.group, option.attribute)] = option.read(value)
    for option in known.values():
        if option.default is MISSING and (*option.group, option.attribute) not in read:
            raise SettingError(f"{option.placed or option.flag} is missing: {option.help[:1].lower()}{option.help[1:]}")
    return _make(cls, read, (), None)


def _make(cls: type[Made], read: Mapping[tuple[str, ...], Any], group: tuple[str, ...], given: Any) -> Made:
    hints, own = get_type_hints(cls), {}
    for one in fields(cls):  # type: ignore[arg-type]
        default = _default(one) if given is None else getattr(given, one.name)
        if is_dataclass(kind := hints[one.name]):
            own[one.name] = _make(kind, read, (*group, one.name), None if default is MISSING else default)  # type: ignore[arg-type]
        else:
            own[one.name] = read.get((*group, one.name), default)
    return cls(**own)


def flat(settings: Any) -> dict[str, Any]:
    """Return the settings by flat name, as `build` takes them."""
    out: dict[str, Any] = {}
    for option in options(type(settings)):
        holder = settings
        for name in option.group:
            holder = getattr(holder, name)
        out[option.name] = getattr(holder, option.attribute)
    return out


def lasting_names(settings: Any) -> tuple[str, ...]:
    """Return the names of the settings that must not change when a study is resumed: those that are not `free`."""
    return tuple(option.name for option in options(type(settings)) if not option.free)


def lasting(settings: Any) -> dict[str, Any]:
    """Return the settings that must not change when a study is resumed, as plain values without None."""
    held = lasting_names(settings)
    return {name: show(value) for name, value in flat(settings).items() if name in held and value is not None}


def show(value: Any) -> Any:
    """Return a value as TOML has it; an object from Python becomes its name in angle brackets."""
    if isinstance(value, (list, tuple)):
        return [show(one) for one in value]
    if isinstance(value, (str, int, float, Mapping, os.PathLike)):
        return plain(value)
    return f"<{getattr(value, '__name__', type(value).__name__)}>"


def word(value: Any) -> str:
    """Return a value as it would be typed."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(word, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def type_command(*words: str, **options: Any) -> str:
    """Return a command as it is typed; an option with a value of Python, or with several, becomes a name to fill in."""
    typed = list(words)
    for name, value in options.items():
        value = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        known = isinstance(value, (str, Path))
        typed += [f"--{name.replace('_', '-')}", quote(str(value)) if known else name.split("_")[-1].upper()]
    return " ".join(["malaprop", *typed])
