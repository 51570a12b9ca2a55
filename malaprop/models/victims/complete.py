"""Users' own victims: objects with some members of `core.victim.Victim`, wrapped so that they have all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from malaprop.core.budget import Meter
from malaprop.core.capability import Capability
from malaprop.core.errors import VictimError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words
from malaprop.core.victim import ANSWERS, MEMBERS, Fields, Victim, in_fields

NEEDED = ("name", "offers", "classes", "begin", "finish", "predict")  # which make an object a victim
_CALLED = {Capability.CHARACTERS: "gradients"}  # where the attribute is not called as the capability


def is_victim(thing: Any) -> bool:
    """Return whether an object has the members that a victim needs at least."""
    return all(hasattr(thing, name) for name in NEEDED)


def complete(thing: Any) -> Victim:
    """Return the object itself where it has every member, else one around it that has."""
    if all(hasattr(thing, name) for name in MEMBERS):
        whole: Victim = thing
        return whole
    return Completed(thing)


class Completed:
    """An object as a victim with every member: its own, or a default that suits most victims."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.name = str(thing.name)
        self.parts: Mapping[Capability, Any] = _parts(thing)
        self.offers = (frozenset(thing.offers) & ANSWERS).union(self.parts)
        self.unknown = str(getattr(thing, "unknown", "[UNK]"))
        self.device = str(getattr(thing, "device", "cpu"))
        self.rounding = float(getattr(thing, "rounding", 0.0))
        self.lanes = int(getattr(thing, "lanes", 1))
        self.renews = bool(getattr(thing, "renews", False))
        self.precision = str(getattr(thing, "precision", "fp32"))
        self.withheld = str(getattr(thing, "withheld", ""))
        inside = getattr(thing, "inside", None)
        self.inside: Victim | None = None if inside is None else complete(inside)

    @property
    def labels(self) -> int | None:
        found = getattr(self.thing, "labels", None)
        return None if found is None else int(found)

    @property
    def label_names(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self.thing, "label_names", ())))

    @property
    def fingerprint(self) -> str:
        return str(getattr(self.thing, "fingerprint", ""))

    @property
    def meter(self) -> Meter | None:
        found = getattr(self.thing, "meter", None)
        return found if isinstance(found, Meter) else None

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self.thing, "notes", ())))

    def classes(self, table: Words) -> Ints | None:
        found: Ints | None = self.thing.classes(table)
        return found

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        return self.thing.begin(pool, wanted)

    def finish(self, begun: Any) -> Floats:
        scores: Floats = self.thing.finish(begun)
        return scores

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        scores: Floats = self.thing.predict(in_fields(texts))
        return scores


def _parts(thing: Any) -> dict[Capability, Any]:
    """Return the object's extra capabilities: its own `parts`, or the attributes named after them."""
    given = getattr(thing, "parts", None)
    if given is not None:
        return dict(given)
    found = {}
    for capability in frozenset(thing.offers) - ANSWERS:
        called = _CALLED.get(capability, str(capability))
        found[capability] = getattr(thing, called, None)
        if found[capability] is None:
            raise VictimError(f"{thing.name} offers {capability} but has no attribute {called}")
    return found
