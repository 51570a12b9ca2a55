"""Finds out how a text model breaks when words and characters change, and makes it harder to break.

import malaprop as mp

victim = mp.victim(predict)  # list of texts -> scores, shape (n, labels)
outcomes = mp.attack("pwws", victim, [("a moving, funny film", 1)], seed=0)
"""

from __future__ import annotations

from typing import Any

__version__ = "0.2.0"

_NAMES = {  # of the toolkit and the frame; what rooms add to them stands in their `ROOM` as `python`
    "victim": "malaprop.frame.runs.victims:victim",
    "defend": "malaprop.frame.runs.victims:defend",
    "recipe": "malaprop.frame.runs.make_attack:recipe",
    "study": "malaprop.frame.study.python_api:study",
    "run": "malaprop.frame.study.python_api:run",
    "report": "malaprop.frame.study.python_api:report",
    "load": "malaprop.data.base:load",
    "Attack": "malaprop.attacks.attack:Attack",
    "Example": "malaprop.core.example:Example",
    "MalapropError": "malaprop.core.errors:MalapropError",
    "Outcome": "malaprop.frame.records.outcome:Outcome",
    "Result": "malaprop.frame.study.study:Result",
    "Summary": "malaprop.frame.records.summary:Summary",
}


def _places() -> dict[str, str]:
    """Return where each public name is, as "module:attribute"."""
    from malaprop.frame.rooms import added

    return {**added("python"), **_NAMES}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*_places()]
    place = None if name.startswith("_") else _NAMES.get(name) or _places().get(name)
    if place is None:
        raise AttributeError(f"module 'malaprop' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = place.partition(":")
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_places(), "__all__"})
