"""Finds out how a text model breaks when words and characters change, and makes it harder to break.

import malaprop as mp

victim = mp.victim(predict)  # list of texts -> scores, shape (n, labels)
outcomes = mp.attack("pwws", victim, [("a moving, funny film", 1)], seed=0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_NAMES = {
    "attack": "malaprop.studies.attack:attack",
    "audit": "malaprop.studies.audit:audit",
    "harden": "malaprop.defences.frommodel:harden",
    "recipe": "malaprop.runs.api:recipe",
    "run": "malaprop.runs.local:run",
    "victim": "malaprop.runs.victims:victim",
    "load": "malaprop.data.base:load",
    "Attack": "malaprop.attacks.attack:Attack",
    "Example": "malaprop.core.example:Example",
    "MalapropError": "malaprop.core.errors:MalapropError",
    "Summary": "malaprop.records.summary:Summary",
}
__all__ = [*_NAMES]

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack as Attack
    from malaprop.core.errors import MalapropError as MalapropError
    from malaprop.core.example import Example as Example
    from malaprop.data.base import load as load
    from malaprop.records.summary import Summary as Summary
    from malaprop.runs.api import recipe as recipe
    from malaprop.runs.local import run as run
    from malaprop.runs.victims import victim as victim
    from malaprop.studies.attack import attack as attack
    from malaprop.studies.audit import audit as audit


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'malaprop' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _NAMES[name].partition(":")
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])
