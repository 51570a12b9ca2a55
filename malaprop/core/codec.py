"""Encode dataclasses as JSON values and decode them by their types; errors name the place and the fault in one line."""

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
        """The type of a field that may hold a number that is not finite: null in JSON, read back as nan."""

        __slots__ = ()


def encode(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON values; a number that is not finite becomes null."""
    plain: dict[str, Any] = finite(asdict(record, dict_factory=_leave_out))
    return plain


def _leave_out(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Drop the fields that only matter in a run which a limit has ended, where they hold their defaults."""
    return {name: value for name, value in pairs if name not in _SPARE or value != _SPARE[name]}


def finite(value: Any) -> Any:
    """Replace numbers that are not finite by None, and sets by sorted lists."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def decode(kind: type[Made], raw: Any) -> Made:
    """Make a dataclass from JSON values. Unknown keys are ignored: later versions may add some."""
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
    """Rewrite msgspec's message with the place first: models[0].texts: expected `int`, got `str`."""
    what, _, place = " ".join(said.split()).partition(" - at `$.")
    return f"{place.rstrip('`')}: {what[:1].lower()}{what[1:]}" if place else what
