"""Records as JSON's own values and back: dataclasses by their types, with one line on what is wrong and where."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from malaprop.core.errors import RecordError

Made = TypeVar("Made")
_SPARE = {"unfinished": 0, "too_few": False}  # of a Rate

if TYPE_CHECKING:
    Real = float
else:

    class Real(float):
        """The type of a field whose number may be not finite: JSON has null for it, which is read as nan."""

        __slots__ = ()


def encode(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as JSON's own values; a number that is not finite is null."""
    plain: dict[str, Any] = finite(asdict(record, dict_factory=_leave_out))
    return plain


def _leave_out(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields without those that are for runs alone which a limit has ended, where they say nothing."""
    return {name: value for name, value in pairs if name not in _SPARE or value != _SPARE[name]}


def finite(value: Any) -> Any:
    """The value with null for each number that JSON lacks, and lists in the place of sets."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def decode(kind: type[Made], raw: Any) -> Made:
    """A dataclass from JSON's own values. Keys that it does not know are left out: later versions may add some."""
    import msgspec

    try:
        return msgspec.convert(raw, kind, dec_hook=_read_real)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RecordError(_explain(str(error) or type(error).__name__)) from None


def _read_real(kind: Any, value: Any) -> Any:
    if kind is not Real or isinstance(value, bool) or not isinstance(value, int | float | None):
        raise ValueError(f"expected a number or null, got {str(value)[:40]!r}")
    return Real("nan" if value is None else value)


def _explain(said: str) -> str:
    """msgspec's message with the place first: models[0].texts: expected `int`, got `str`."""
    what, _, place = " ".join(said.split()).partition(" - at `$.")
    return f"{place.rstrip('`')}: {what[:1].lower()}{what[1:]}" if place else what
