"""Finds out how a text model breaks when words and characters change, and makes it harder to break.

import malaprop as mp

victim = mp.victim(predict)  # list of texts -> scores, shape (n, labels)
outcomes = mp.attack("pwws", victim, [("a moving, funny film", 1)], seed=0)
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "attack": "malaprop.features.audit.attack:attack",
    "audit": "malaprop.features.audit.study:audit",
    "check": "malaprop.features.audit.check:check",
    "defend": "malaprop.frame.runs.victims:defend",
    "harden": "malaprop.features.hardening.study:harden",
    "recipe": "malaprop.frame.runs.make_attack:recipe",
    "study": "malaprop.frame.study.python_api:study",
    "run": "malaprop.frame.study.python_api:run",
    "report": "malaprop.frame.study.python_api:report",
    "train": "malaprop.features.training.study:train",
    "transfer": "malaprop.papers.universal.study:transfer",
    "Result": "malaprop.frame.study.study:Result",
    "Outcome": "malaprop.frame.records.outcome:Outcome",
    "victim": "malaprop.frame.runs.victims:victim",
    "load": "malaprop.data.base:load",
    "Attack": "malaprop.attacks.attack:Attack",
    "Example": "malaprop.core.example:Example",
    "MalapropError": "malaprop.core.errors:MalapropError",
    "Summary": "malaprop.frame.records.summary:Summary",
}
_COMMANDS: tuple[
    str, ...
] = ()  # commands that are functions too, made from their settings: malaprop.frame.study.python_api
__all__ = [*_NAMES, *_COMMANDS]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'malaprop' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _NAMES.get(name, "malaprop.frame.study.python_api:function_of").partition(":")
    found = getattr(import_module(module), attribute)
    value = globals()[name] = found if name in _NAMES else found(name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
