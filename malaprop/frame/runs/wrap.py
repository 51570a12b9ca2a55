"""Defences that act at each query: typed in a line (`fuse:samples=8`, `five(fact)`), in TOML, or as values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from inspect import isclass
from pathlib import Path
from typing import Any, NamedTuple

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.core.settings import call, parse_value, read_toml
from malaprop.core.victim import Remembering, Victim
from malaprop.frame.runs.defended import Defended, Method
from malaprop.frame.runs.victims import WRAPPERS

# One name for several settings: those of the papers' tables (`five:imdb`), and the kinds of `purify`.
PAPER: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "five": {
        "mnli": {"words": 1, "noise": 8.14, "samples": 8, "vote": "logits"},
        "imdb": {"words": 1, "noise": 2.3, "samples": 10, "vote": "probabilities"},
    },
    "fuse": {
        "mnli": {"words": 2, "candidates": 10, "samples": 14, "vote": "logits"},
        "imdb": {"words": 3, "candidates": 10, "samples": 12, "vote": "probabilities"},
    },
    "safer": {"paper": {"sets": "nearest", "floor": 0.8, "most": 100}},
    "purify": {"spell": {"by": "spell"}, "mlm": {"by": "mlm"}},
}
ALONE = {"detect": "by"}  # a setting that may be given without its name, and takes all further parts of the spec
Layer = tuple[Method, int | None]  # a defence and its seed; None: it draws anew at every ask
_FILE = ".toml"
_LAYER = re.compile(r"(?P<name>[a-z][\w-]*)(?P<settings>(?::[^():]+)*)(?:\((?P<inner>.*)\))?", re.DOTALL)


class DefenceLayer(NamedTuple):
    """One defence of a spec: its name and its settings as they are typed."""

    name: str
    settings: tuple[str, ...]


class Spec(NamedTuple):
    """Defences from the outermost inwards, and the innermost name: a victim's, or empty."""

    layers: tuple[DefenceLayer, ...]
    inner: str


def parse(spec: str) -> Spec:
    """Parse a spec: `five:noise=2(fuse(X))` is five around fuse around X. The innermost part names a victim."""
    layers: list[DefenceLayer] = []
    rest = spec.strip()
    while (found := _LAYER.fullmatch(rest)) and found["name"] in WRAPPERS:
        settings = tuple(part for part in found["settings"].split(":") if part)
        layers.append(DefenceLayer(found["name"], settings))
        rest = (found["inner"] or "").strip()
    return Spec(tuple(layers), "" if rest == "none" else rest)


def defend_by_spec(spec: str, victim: Victim | None = None, *, find: Callable[[str], Victim] | None = None) -> Victim:
    """Return the victim behind the defences of a spec; for `none` or an empty spec the victim itself.

    `find` loads the innermost name, such as `fact` in five(fact); without `find` the spec must not have one.
    """
    layers, inner = parse(spec)
    if inner and find is None:
        raise unknown("defence", inner.partition("(")[0].partition(":")[0], [*WRAPPERS, "none"])
    around = [
        read_layer(name, settings) for name, settings in layers
    ]  # first: what is wrong should not wait for a model
    made = find(inner) if inner and find is not None else victim
    if made is None:
        raise SettingError(f"{spec!r} names no victim; write it in brackets, as five(BERT)")
    return put_around(made, around)


def put_around(victim: Victim, layers: Sequence[Layer]) -> Victim:
    """Return the victim behind some defences, of which the last is the innermost."""
    for one, seed in reversed(layers):
        victim = Defended(victim=victim, method=one, seed=seed)
    return victim


def read_defence(thing: Any, seed: int | None) -> list[Layer]:
    """Read a value that is a defence, or defences as they are typed, outermost first, which may name other seeds."""
    if isinstance(thing, str):
        layers, inner = parse(thing)
        if inner or not layers:
            raise unknown("defence", (inner or thing).partition("(")[0].partition(":")[0], WRAPPERS)
        usual = {"seed": "fresh" if seed is None else seed}
        return [_make_layer(name, {**usual, **read_settings(name, settings)}) for name, settings in layers]
    if isclass(thing):
        raise SettingError(f"{thing.__name__} is a class, and a defence is a value of it; write {thing.__name__}(...)")
    if not isinstance(thing, Method):
        known = ", ".join(WRAPPERS)
        raise SettingError(f"{str(thing)[:60]!r} is not a defence; give a value such as Purify(), or one of {known}")
    return [(thing, seed)]


def is_defence_file(path: str | os.PathLike[str]) -> bool:
    """Whether this is a path of a file of TOML that describes a victim behind defences."""
    name = os.fspath(path)
    return name.lower().endswith(_FILE) and not name.startswith("ensemble:")


def read_defence_file(path: Path) -> tuple[str, list[Layer]]:
    """Read the victim that a file names and the defences around it, outermost first.

    The file has `victim = "..."`, as `--victim` takes it, and a `[[wrap]]` table for each defence, innermost first:
    `defence = "NAME"`, as in a line of its own, and below it settings by name.
    """
    found = read_toml(path)
    if odd := [key for key in found if key not in ("victim", "wrap")]:
        raise SettingError(f"{path}: {unknown('key', odd[0], ('victim', 'wrap'))}")
    inner, tables = found.get("victim"), found.get("wrap")
    if not isinstance(inner, str) or not inner.strip():
        raise SettingError(f'{path} names no victim; write victim = "..." at its top, as --victim takes it')
    if is_defence_file(inner):
        raise SettingError(f"{path}: victim is a file of this kind too, {inner!r}; write its [[wrap]] tables here")
    if not isinstance(tables, list) or not tables or not all(isinstance(one, dict) for one in tables):
        raise SettingError(f'{path} has no [[wrap]] table; write one for each defence, with defence = "NAME" in it')
    try:
        return inner, [_read_table(one) for one in reversed(tables)]
    except SettingError as error:
        raise SettingError(f"{path}: {error}") from None


def _read_table(table: Mapping[str, Any]) -> Layer:
    """Read one [[wrap]] table; what follows a setting that needs no name (`detect` and its `by`) is that setting's."""
    settings = {key.replace("-", "_"): value for key, value in table.items()}
    layers, inner = parse(str(settings.pop("defence", "")))
    if inner or len(layers) != 1:
        known = ", ".join(WRAPPERS)
        raise SettingError(f'a [[wrap]] table needs defence = "NAME" of {known}, got {table.get("defence")!r}')
    name, typed = layers[0]
    if name not in ALONE:
        return _make_layer(name, {**read_settings(name, typed), **settings})
    first = {ALONE[name]: settings.pop(ALONE[name])} if ALONE[name] in settings else {}
    return read_layer(name, (*typed, *(f"{key}={_type(value)}" for key, value in {**first, **settings}.items())))


def _type(value: Any) -> str:
    """Write a value as it is typed in a line: lists with a plus between their items."""
    if isinstance(value, list):
        return "+".join(map(_type, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_layer(name: str, settings: tuple[str, ...]) -> Layer:
    """Read one defence and its seed as they are typed."""
    return _make_layer(name, read_settings(name, settings))


def _make_layer(name: str, given: dict[str, Any]) -> Layer:
    """Make one defence and its seed, None for `seed=fresh`: it draws anew at every ask."""
    seed = given.pop("seed", 0)
    if seed != "fresh" and (not isinstance(seed, int) or seed < 0):
        raise SettingError(f"{name}: seed must be a whole number or fresh, got {seed!r}")
    return method(name, given), None if seed == "fresh" else seed


def draws_at_random(spec: str) -> bool:
    """Return whether a defence's answers depend on random draws; a method that draws nothing is `steady`.

    An adaptive attack may average over draws; against a steady defence the plain attack is as strong.
    """
    return any(not getattr(read_layer(*layer)[0], "steady", False) for layer in parse(spec).layers)


def remembers_queries(spec: str) -> bool:
    """Return whether a defence's answers depend on earlier queries."""
    return any(isinstance(read_layer(*layer)[0], Remembering) for layer in parse(spec).layers)


def read_settings(name: str, settings: Iterable[str]) -> dict[str, Any]:
    """Parse settings: name=value each, or a name that stands for several."""
    given: dict[str, Any] = {}
    rows, alone = PAPER.get(name, {}), ALONE.get(name)
    for part in settings:
        key, equals, value = part.partition("=")
        if not equals and key in rows:
            given |= rows[key]
        elif alone and alone not in given and (not equals or key.strip() == alone):
            given[alone] = (value if equals else key).strip()
        elif alone and alone in given and key.strip() != "seed":
            given[alone] += f":{part.strip()}"  # detect:all:of=fgws+rde
        elif not equals:
            hint = f"; known by one name: {', '.join(rows)}" if rows else ""
            raise SettingError(f"a setting of {name} is written name=value, got {part!r}{hint}")
        else:
            given[key.strip().replace("-", "_")] = parse_value(value.strip())
    return given


def method(name: str, settings: Mapping[str, Any]) -> Method:
    """Make a defence by name; one with a SWITCH takes that part's settings too, `samples` for its `alternatives`."""
    make = WRAPPERS[name]
    usual = make()
    switch = getattr(usual, "switch", None)
    if switch is None:
        made: Method = call(make, settings, name)
        return made
    given = dict(settings)
    if "samples" in given:
        given["alternatives"] = given.pop("samples")
    theirs = {field.name for field in fields(switch)}
    own = {key: value for key, value in given.items() if key not in theirs}
    if odd := [key for key in own if key not in {field.name for field in fields(usual)} - {"switch"}]:
        known = (theirs | {field.name for field in fields(usual)} | {"samples", "seed"}) - {"switch"}
        raise unknown(f"setting of {name}", odd[0], known)
    try:
        switch = switch.but(**{key: value for key, value in given.items() if key in theirs})
        made = make(switch=switch, **own)
    except TypeError as error:
        raise SettingError(f"{name} cannot take {dict(settings)}: {error}") from None
    return made
