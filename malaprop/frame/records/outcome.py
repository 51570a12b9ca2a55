"""The outcome of one attacked example: its classes, and its form on disk as a line of JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from malaprop.core.errors import RecordError, SettingError
from malaprop.core.judgement import Verdict, verdict

if TYPE_CHECKING:
    from malaprop.core.text import Text

Status = Literal["success", "failed", "skipped", "error"]
Op = Literal["replace", "delete", "insert", "rewrite"]
STATUSES: tuple[Status, ...] = get_args(Status)
OPS: tuple[Op, ...] = get_args(Op)

# Reasons that the summary counts beside the rates.
REJECTS = "the detector rejects the text"  # for a skipped text, or for the strongest attempt at a text that held
NAMES_NO_LABEL = "the answer names no label"  # for a skipped text or a success, if the victim answers in words

DECIMALS = 6  # finer than the rounding of a batch in float32, at half the bytes
# Characters that some readers take for the end of a line, or that UTF-8 cannot carry; JSON can escape both.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def _round(number: float) -> float:
    return round(float(number), DECIMALS)


@dataclass(frozen=True, slots=True)
class Side:
    """A text and the victim's answer. Scores are rounded at once, so a record read back equals the one written."""

    fields: dict[str, str]
    prediction: int | None = None
    scores: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", dict(self.fields))
        object.__setattr__(self, "scores", tuple([round(float(score), DECIMALS) for score in self.scores]))

    @property
    def text(self) -> str:
        """The single field, or all fields joined by newlines."""
        return "\n".join(self.fields.values())


@dataclass(frozen=True, slots=True)
class Edit:
    """The change of one slot; `slot` counts over all fields as in core's Text; `before` and `after` are its words.

    A `rewrite` is that of a whole field, from its first slot on: what stands between its words has changed too.
    """

    field: str
    slot: int
    op: Op
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Queries:
    """An example's queries: all asked (as papers count), unique within the example, forwarded to the model."""

    asked: int = 0
    unique: int = 0
    forwarded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of the attack on one example.

    `adversarial` is None for skipped and error; for failed it is the strongest attempt. `measures` holds further
    measures, such as similarity and perplexity. `by` is the recipe that broke the text, if several were tried in turn.
    `meaning` is a judge's number for a success: the chance that a reader finds the same meaning and label in it.
    `flips` counts the texts that reached the goal, but that the judge refused.
    """

    id: str
    status: Status
    label: int
    original: Side
    adversarial: Side | None = None
    edits: tuple[Edit, ...] = ()
    queries: Queries = field(default_factory=Queries)
    changed_share: float = 0.0
    seconds: float = 0.0
    seed: int = 0
    reason: str | None = None
    measures: dict[str, float] = field(default_factory=dict)
    by: str | None = None
    meaning: float | None = None
    flips: int = 0

    @property
    def validity(self) -> Verdict | None:
        """Whether the meaning was kept; None where no judge was asked."""
        return None if self.meaning is None else verdict(self.meaning)

    @property
    def broken(self) -> bool:
        """Whether this is a success that counts: one that keeps its meaning, where a judge was asked."""
        return self.status == "success" and self.validity in (None, "kept")

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise RecordError(f"status must be one of {', '.join(STATUSES)}, got {self.status!r}")
        if self.adversarial is None and self.status in ("success", "failed"):
            raise RecordError(f"outcome {self.id!r} is {self.status}, so it needs an adversarial side, got none")
        object.__setattr__(self, "changed_share", _round(self.changed_share))
        object.__setattr__(self, "seconds", _round(self.seconds))
        if self.measures:
            object.__setattr__(self, "measures", {k: _round(v) for k, v in self.measures.items()})
        if self.meaning is not None:
            object.__setattr__(self, "meaning", _round(self.meaning))


class Outcomes(list[Outcome]):
    """A list of outcomes that can be converted to rows or a data frame."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a row of plain values for each outcome; several fields are joined by newlines."""
        return [_row(outcome) for outcome in self]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame."""
        return make_frame(self.to_dicts())


def _row(outcome: Outcome) -> dict[str, Any]:
    first, last, spent = outcome.original, outcome.adversarial, outcome.queries
    return {
        "id": outcome.id, "status": outcome.status, "label": outcome.label,
        "original": first.text, "prediction": first.prediction,
        "adversarial": None if last is None else last.text,
        "adversarial_prediction": None if last is None else last.prediction,
        "edits": len(outcome.edits), "changed_share": outcome.changed_share,
        "asked": spent.asked, "unique": spent.unique, "forwarded": spent.forwarded,
        "seconds": outcome.seconds, "seed": outcome.seed, "reason": outcome.reason, "by": outcome.by,
        **outcome.measures,
        **({} if outcome.meaning is None else {"validity": outcome.validity, "meaning": outcome.meaning}),
    }  # fmt: skip


def make_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the rows as a pandas data frame; raise if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise SettingError("a data frame needs pandas: pip install pandas, or take to_dicts()") from None
    return pandas.DataFrame(list(rows))


def edits_between(origin: Text, now: Text) -> tuple[Edit, ...]:
    """Return an edit for each slot whose words differ; putting each `after` into its slot gives `now` again.

    A field in which something else differs, such as marks, is one edit.
    """
    if origin.parts[0::2].tolist() != now.parts[0::2].tolist():
        return tuple(_list_rewrites(origin, now))
    slots, strings = origin.changed(now), origin.table.strings
    fields = origin.field_of_slots()[slots].tolist() if len(origin.names) > 1 else [0] * len(slots)
    pairs = zip(origin.words[slots].tolist(), now.words[slots].tolist(), strict=True)
    named = zip(fields, slots.tolist(), ((strings[old], strings[new]) for old, new in pairs), strict=True)
    return tuple(Edit(origin.names[field], slot, _op(*words), *words) for field, slot, words in named)


def _list_rewrites(origin: Text, now: Text) -> Iterator[Edit]:
    fields = origin.field_of_slots().tolist()
    sides = zip(origin.names, origin.values(), now.values(), strict=True)
    for number, (name, before, after) in enumerate(sides):
        if before != after:
            yield Edit(name, fields.index(number), "rewrite", before, after)


def _op(before: str, after: str) -> Op:
    if not after:
        return "delete"
    beside = after.startswith(f"{before} ") or after.endswith(f" {before}")
    return "insert" if beside or not before else "replace"


def _number(value: float) -> float | str:
    """Return the number, or its name as a string: JSON has no infinity, which log-probabilities can reach."""
    return value if math.isfinite(value) else str(value)


def _side_plain(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {"fields": side.fields, "prediction": side.prediction, "scores": [_number(s) for s in side.scores]}


def to_plain(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as JSON's own values, keys in the order of the file."""
    spent = outcome.queries
    plain: dict[str, Any] = {
        "id": outcome.id,
        "status": outcome.status,
        "label": outcome.label,
        "original": _side_plain(outcome.original),
        "adversarial": _side_plain(outcome.adversarial),
        "edits": [
            {"field": e.field, "slot": e.slot, "op": e.op, "from": e.before, "to": e.after} for e in outcome.edits
        ],
        "queries": {"asked": spent.asked, "unique": spent.unique, "forwarded": spent.forwarded},
        "changed_share": _number(outcome.changed_share),
        "seconds": _number(outcome.seconds),
        "seed": outcome.seed,
        "reason": outcome.reason,
    }
    if outcome.measures:
        plain["measures"] = {name: _number(value) for name, value in outcome.measures.items()}
    if outcome.by is not None:
        plain["by"] = outcome.by
    if outcome.meaning is not None:
        plain |= {"validity": outcome.validity, "meaning": _number(outcome.meaning)}
    if outcome.flips:
        plain["flips"] = outcome.flips
    return plain


def _dump(plain: Mapping[str, Any]) -> str:
    line = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def to_json(outcome: Outcome) -> str:
    """Return the outcome as one line, without its newline; no reader takes a character in it for a line's end."""
    return _dump(to_plain(outcome))


def compare_key(outcome: Outcome, *, scores: bool = True) -> str:
    """Return a line of all that a rerun must reproduce: without seconds and the batch-dependent forwarded count.

    `scores=False` compares runs of different widths on one device: a score's last digit may change with its batch.
    """
    plain = to_plain(outcome)
    del plain["seconds"], plain["queries"]["forwarded"]
    if not scores:
        for side in (plain["original"], plain["adversarial"]):
            if side is not None:
                del side["scores"]
    return _dump(plain)


_NAMES = {str: "a string", int: "a whole number", float: "a number", list: "a list", dict: "an object"}


def _want(table: Mapping[str, Any], key: str, kind: type, where: str, *, null: bool = False) -> Any:
    value = table.get(key)
    if type(value) is kind:  # a million outcomes are read this way
        return value
    name = f"{where}.{key}" if where else key
    if key not in table:
        raise RecordError(f"outcome lacks {name!r}")
    if value is None and null:
        return None
    if kind is float:
        return _read_number(value, name)
    raise RecordError(f"{name!r} must be {_NAMES[kind]}, got {_show(value)}")


def _show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _read_number(value: object, name: str) -> float:
    if type(value) is float:
        return value
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


def _read_side(table: Mapping[str, Any], where: str) -> Side:
    fields = _want(table, "fields", dict, where)
    for name, value in fields.items():
        if type(value) is not str:
            _want(fields, name, str, f"{where}.fields")
    scores = _want(table, "scores", list, where)
    if not all(type(score) is float for score in scores):
        scores = [_read_number(score, f"{where}.scores") for score in scores]
    return Side(fields, _want(table, "prediction", int, where, null=True), tuple(scores))


def _read_edit(table: object) -> Edit:
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
    """Return the outcome that JSON's own values describe. Unknown keys are ignored: later versions may add some."""
    if not isinstance(plain, dict):
        raise RecordError(f"an outcome must be an object, got {_show(plain)}")
    changed = _want(plain, "adversarial", dict, "", null=True)
    spent = _want(plain, "queries", dict, "")
    measures = plain.get("measures") or {}
    return Outcome(
        id=_want(plain, "id", str, ""),
        status=_choice(plain, "status", STATUSES, ""),
        label=_want(plain, "label", int, ""),
        original=_read_side(_want(plain, "original", dict, ""), "original"),
        adversarial=None if changed is None else _read_side(changed, "adversarial"),
        edits=tuple(_read_edit(e) for e in _want(plain, "edits", list, "")),
        queries=Queries(*(_want(spent, key, int, "queries") for key in ("asked", "unique", "forwarded"))),
        changed_share=_want(plain, "changed_share", float, ""),
        seconds=_want(plain, "seconds", float, ""),
        seed=_want(plain, "seed", int, ""),
        reason=_want(plain, "reason", str, "", null=True),
        measures={name: _want(measures, name, float, "measures") for name in measures} if measures else {},
        by=_want(plain, "by", str, "", null=True) if "by" in plain else None,
        meaning=_want(plain, "meaning", float, "") if "meaning" in plain else None,
        flips=_want(plain, "flips", int, "") if "flips" in plain else 0,
    )


def from_json(line: str | bytes) -> Outcome:
    """Return the outcome on one line of JSON."""
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"an outcome must be one line of JSON: {error}") from None
    return from_plain(plain)
