"""Reading outcomes: JSON checked against the schema, each fault named in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.frame.records.outcome import OPS, STATUSES, Edit, Outcome, Queries, Side

_NAMES = {str: "a string", int: "a whole number", float: "a number", list: "a list", dict: "an object"}


def _want(table: Mapping[str, Any], key: str, kind: type, where: str, *, null: bool = False) -> Any:
    name = f"{where}.{key}" if where else key
    if key not in table:
        raise RecordError(f"outcome lacks {name!r}")
    value = table[key]
    if value is None and null:
        return None
    if kind is float:
        return _number(value, name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordError(f"{name!r} must be {_NAMES[kind]}, got {_show(value)}")
    return value


def _show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _number(value: object, name: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if value in ("nan", "inf", "-inf"):
        return float(str(value))
    raise RecordError(f"{name!r} must be a number, got {_show(value)}")


def _choice(table: Mapping[str, Any], key: str, choices: tuple[Any, ...], where: str) -> Any:
    value = _want(table, key, str, where)
    if value not in choices:
        raise RecordError(f"{key!r} must be one of {', '.join(choices)}, got {_show(value)}")
    return value


def _side(table: Mapping[str, Any], where: str) -> Side:
    fields = _want(table, "fields", dict, where)
    for name in fields:
        _want(fields, name, str, f"{where}.fields")
    scores = _want(table, "scores", list, where)
    return Side(
        fields,
        _want(table, "prediction", int, where, null=True),
        tuple(_number(score, f"{where}.scores") for score in scores),
    )


def _edit(table: object) -> Edit:
    if not isinstance(table, dict):
        raise RecordError(f"'edits' must hold objects, got {_show(table)}")
    return Edit(
        _want(table, "field", str, "edits"),
        _want(table, "slot", int, "edits"),
        _choice(table, "op", OPS, "edits"),
        _want(table, "from", str, "edits"),
        _want(table, "to", str, "edits"),
    )


def from_plain(plain: object) -> Outcome:
    """An outcome of JSON's own values. Keys it does not know are left out: later versions may add some."""
    if not isinstance(plain, dict):
        raise RecordError(f"an outcome must be an object, got {_show(plain)}")
    changed = _want(plain, "adversarial", dict, "", null=True)
    spent = _want(plain, "queries", dict, "")
    measures = plain.get("measures") or {}
    return Outcome(
        id=_want(plain, "id", str, ""),
        status=_choice(plain, "status", STATUSES, ""),
        label=_want(plain, "label", int, ""),
        original=_side(_want(plain, "original", dict, ""), "original"),
        adversarial=None if changed is None else _side(changed, "adversarial"),
        edits=tuple(_edit(e) for e in _want(plain, "edits", list, "")),
        queries=Queries(*(_want(spent, key, int, "queries") for key in ("asked", "unique", "forwarded"))),
        changed_share=_want(plain, "changed_share", float, ""),
        seconds=_want(plain, "seconds", float, ""),
        seed=_want(plain, "seed", int, ""),
        reason=_want(plain, "reason", str, "", null=True),
        measures={name: _want(measures, name, float, "measures") for name in measures},
        by=_want(plain, "by", str, "", null=True) if "by" in plain else None,
    )


def from_json(line: str | bytes) -> Outcome:
    """The outcome on one line."""
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"an outcome must be one line of JSON: {error}") from None
    return from_plain(plain)
