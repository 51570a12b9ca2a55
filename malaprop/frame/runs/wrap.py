"""Defences that act when a victim is asked, as they are typed: five, fuse:samples=8:vote=majority, five(fact)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.core.settings import call, parse_value
from malaprop.core.victim import Remembering, Victim
from malaprop.frame.runs.defended import Defended, Method
from malaprop.frame.runs.victims import WRAPPERS

# Settings that go by one name: of the papers' tables what they were made with (`five:imdb`), and of `purify` its kinds.
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
ALONE = {"detect": "by"}  # a setting that may be given without its name, and has what stands behind it for its own
_LAYER = re.compile(r"(?P<name>[a-z][\w-]*)(?P<settings>(?::[^():]+)*)(?:\((?P<inner>.*)\))?", re.DOTALL)


class DefenceLayer(NamedTuple):
    """One defence of a spec: its name and what was set."""

    name: str
    settings: tuple[str, ...]


class Spec(NamedTuple):
    """Defences from the outermost inwards, and what stands innermost: a victim's name, or nothing."""

    layers: tuple[DefenceLayer, ...]
    inner: str


def parse(spec: str) -> Spec:
    """`five:noise=2(fuse(X))` is five around fuse around X. What is no wrapper is a victim, or the name of one."""
    layers: list[DefenceLayer] = []
    rest = spec.strip()
    while (found := _LAYER.fullmatch(rest)) and found["name"] in WRAPPERS:
        settings = tuple(part for part in found["settings"].split(":") if part)
        layers.append(DefenceLayer(found["name"], settings))
        rest = (found["inner"] or "").strip()
    return Spec(tuple(layers), "" if rest == "none" else rest)


def defend(spec: str, victim: Victim | None = None, *, find: Callable[[str], Victim] | None = None) -> Victim:
    """The victim behind the defences of a spec; `none` or nothing: the victim itself.

    A name innermost, as `fact` in five(fact), is looked up with `find`; without one it must be missing.
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
    for what, seed in reversed(around):
        made = Defended(victim=made, method=what, seed=seed)
    return made


def read_layer(name: str, settings: tuple[str, ...]) -> tuple[Method, int | None]:
    """One defence and its seed, None for `seed=fresh`: draws anew at every ask."""
    given = read_settings(name, settings)
    seed = given.pop("seed", 0)
    if seed != "fresh" and (not isinstance(seed, int) or seed < 0):
        raise SettingError(f"{name}: seed must be a whole number or fresh, got {seed!r}")
    return method(name, given), None if seed == "fresh" else seed


def draws_at_random(spec: str) -> bool:
    """Whether the answer of a defence hangs on draws, which an attack may know of; a method that draws is not `steady`.

    A steady defence, and a hardened model without one, shows the plain attack all that there is to know.
    """
    return any(not getattr(read_layer(*layer)[0], "steady", False) for layer in parse(spec).layers)


def remembers_queries(spec: str) -> bool:
    """Whether the service in front of the model answers by what it was asked before."""
    return any(isinstance(read_layer(*layer)[0], Remembering) for layer in parse(spec).layers)


def read_settings(name: str, settings: Iterable[str]) -> dict[str, Any]:
    """Settings as they are typed, name=value each, or one of the names that stand for several."""
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
    """A defence by name; settings of SWITCH, where it has one, are given beside its own, `samples` its alternatives."""
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
