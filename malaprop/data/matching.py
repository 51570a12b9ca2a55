"""Labels of data and labels of a victim: matched by name, and by number where one of the two has no names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from malaprop.core.errors import DataError
from malaprop.core.victim import NO_LABEL, REJECTED, find_rejected

if TYPE_CHECKING:
    from malaprop.core.example import Example
    from malaprop.data.base import Examples

UNUSED = -1  # the number of a label that no example has
_BETWEEN = re.compile(r"[+|;,]")
_SHOWN = 8  # names in a message
_REMEDY = "name the victim's labels in its order with --labels a,b"


class Scores(Protocol):
    """The labels of a victim, which may run in another process or on a server."""

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> int | None: ...

    @property
    def label_names(self) -> tuple[str, ...]: ...


Some = TypeVar("Some", bound="Examples")


def agree(data: Some, victim: Scores) -> Some:
    """Return the data with its labels numbered as the victim numbers them; raise where they cannot be matched.

    Names are matched with names. Without names on one side the numbers are used, if both have as many labels.
    """
    if victim.labels == 1:  # a regression: the goal compares the victim's number with the data's
        return data
    names = names_of(victim)
    try:
        turned: Some = data.in_terms_of(names)
    except DataError as error:
        raise DataError(f"{error} (of {victim.name})") from None
    count = victim.labels if victim.labels is not None else count_labels(victim, data)
    spare = victim.label_names[-1:] in ((NO_LABEL,), (REJECTED,))  # which no example has
    if count is not None and len(turned.labels) not in (count, count - spare):
        raise DataError(
            f"{data.name} has {_counted(data.labels)}, {victim.name} scores {count}"
            f"{f' ({_listed(names)})' if names else ''}; {_REMEDY}"
        )
    return turned


def count_labels(victim: Scores, data: Iterable[Example]) -> int | None:
    """Count the scores of a victim that does not state its labels, by one query; None where the query fails."""
    predict, first = getattr(victim, "predict", None), next(iter(data), None)
    if predict is None or first is None:
        return None
    try:
        return int(predict([tuple(first.fields.values())]).shape[1])
    except Exception:  # noqa: BLE001 - a victim may raise anything; the run says so of each example
        return None


def names_of(victim: Scores) -> tuple[str, ...]:
    """Return the names of a victim's labels in the order of its scores; empty where it does not know them.

    The label of rejected texts always has a name, so only those before it decide whether the names are plain numbers.
    """
    names = tuple(victim.label_names)
    return () if are_numbers(names[: find_rejected(names)] if find_rejected(names) >= 0 else names) else names


def describe_match(data: Examples, victim: Scores) -> str:
    """Return one line on how names were matched with numbers; empty where names met names, or numbers numbers."""
    if victim.labels == 1 or data.ordered or names_of(victim) or not data.labels or are_numbers(data.labels):
        return ""
    each = ", ".join(f"{name} is {number}" for number, name in enumerate(data.labels[:_SHOWN]))
    return f"{victim.name} has no names for its labels, so they are taken in this order: {each}; --labels gives another"


def turn(
    data: str, labels: Sequence[str], names: Sequence[str], present: Collection[int] | None = None
) -> list[int] | None:
    """Return for each label its number among `names`; None where the numbers stay as they are.

    `present` are the labels that occur (None: all of them); a label that does not occur needs no match.
    """
    if not names or not labels or are_numbers(names) or (are_numbers(labels) and not set(labels) <= set(names)):
        return None
    return _places(data, labels, names, present)


def order(data: str, labels: Sequence[str], names: Sequence[str], present: Collection[int]) -> list[int]:
    """Return for each label its number among the user's `names`; plain numbers that are not among them stay."""
    if len({name.casefold() for name in names}) < max(2, len(names)):
        raise DataError(f"labels are at least two names that differ, in the victim's order; got {_listed(names)}")
    known = {name.casefold() for name in names}
    if are_numbers(labels) and not known & set(labels):
        if max(present, default=0) >= len(names):
            raise DataError(f"{data} has {_counted(labels)}, and {len(names)} were named ({_listed(names)})")
        return [number if number < len(names) else UNUSED for number in range(len(labels))]
    return _places(data, labels, names, present)


def _places(data: str, labels: Sequence[str], names: Sequence[str], present: Collection[int] | None) -> list[int]:
    places = {_key(name): i for i, name in enumerate(names)}
    found = [places.get(_key(name), UNUSED) for name in labels]
    wanted = range(len(labels)) if present is None else sorted(present)
    if missing := [labels[i] for i in wanted if found[i] == UNUSED]:
        raise DataError(
            f"{data} has the label{'s' * (len(missing) > 1)} {_listed(missing)}, the model knows {_listed(names)}; "
            f"rename them, or {_REMEDY}"
        )
    return found


def _key(name: str) -> str:
    """Return the form in which names are compared: lower case, and a set of labels (a+b, b|a, b; a) in sorted order."""
    return "+".join(sorted(filter(None, (part.strip() for part in _BETWEEN.split(name.casefold()))))) or name


def are_numbers(labels: Sequence[str]) -> bool:
    """Whether the labels are 0, 1, 2 ...: numbers of a victim's scores, not names."""
    return tuple(labels) == tuple(map(str, range(len(labels))))


def _counted(labels: Sequence[str]) -> str:
    return f"{len(labels)} label{'s' * (len(labels) != 1)} ({_listed(labels)})"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(name[:40] for name in names[:_SHOWN]) + more
