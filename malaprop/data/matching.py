"""Labels of data: read from files as numbers from 0, and matched with the labels of a victim by name or by number."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from malaprop.core.errors import DataError
from malaprop.core.victim import NO_LABEL, REJECTED, find_rejected

if TYPE_CHECKING:
    from malaprop.core.example import Example
    from malaprop.data.base import Examples


ENTAILMENT = ("entailment", "neutral", "contradiction")  # the order that SNLI, MNLI and their models have
_DIGITS = 4_300  # that Python makes a whole number of; one of more is a name
MOST = 1_000  # names; more than this is a column of something else


class Labels(NamedTuple):
    """Labels as numbers, with the names of the labels in the order of their numbers."""

    numbers: list[int]
    names: tuple[str, ...]
    note: str  # empty, or how they were read


def read_labels(values: Sequence[object], known: Sequence[str] | None = None, *, where: Iterable[str] = ()) -> Labels:
    """Turn labels into numbers: integers from 0 stay, names are sorted and numbered, or numbered as in `known`.

    The three names of entailment are numbered in their customary order, which files with integers use as well.

    `where` names the place of each value for the error, such as "line 7".
    """
    places = list(where) or [f"row {i + 1}" for i in range(len(values))]
    cells = [cell_of(value, place) for value, place in zip(values, places, strict=True)]
    whole = [_integer(cell) for cell in cells]
    if known is not None:
        return _among(cells, whole, places, tuple(known))
    integers = [number for number in whole if number is not None]
    if not integers and not all(map(_is_number, cells)):
        return _named(cells, _ordered(set(cells)), "")
    if len(integers) < len(cells):
        return _mixed(cells, whole, places)
    found = sorted(set(integers))
    if found[0] >= 0 and found[-1] < MOST and (found[0] == 0 or len(found) == 1):
        return Labels(integers, tuple(map(str, range(max(2, found[-1] + 1)))), "")
    names = [str(number) for number in found]
    shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    note = f"labels {shown} do not count from 0: read as names of labels 0 to {len(names) - 1}, in this order"
    return _named([str(number) for number in integers], names, note)


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _ordered(names: set[str]) -> list[str]:
    customary = {name: place for place, name in enumerate(ENTAILMENT)}
    if {name.casefold() for name in names} == set(ENTAILMENT) and len(names) == len(ENTAILMENT):
        return sorted(names, key=lambda name: customary[name.casefold()])
    return sorted(names)


def cell_of(value: object, place: str) -> str:
    """Return the label as a string; raise where the cell is empty."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (str, int, float)) and value == value and (cell := str(value).strip()):  # a gap may be NaN
        return cell
    raise DataError(f"{place} has no label; every row needs an integer or a name")


def _integer(cell: str) -> int | None:
    try:
        return int(cell)
    except ValueError:
        pass
    head, dot, tail = cell.partition(".")  # 1.0, as data frames write integers beside gaps
    whole = dot and head.lstrip("-").isdecimal() and tail and set(tail) == {"0"}
    return int(head) if whole and len(head) <= _DIGITS else None


def _among(cells: list[str], whole: list[int | None], places: list[str], known: tuple[str, ...]) -> Labels:
    index = {name: i for i, name in enumerate(known)}
    lowered = {name.casefold(): i for i, name in enumerate(known)}
    numbers = []
    for cell, integer, place in zip(cells, whole, places, strict=True):
        number = index.get(cell, lowered.get(cell.casefold(), integer))
        if number is None or not 0 <= number < len(known):
            raise DataError(
                f"{place} has the label {cell[:40]!r}; expected an integer from 0 to {len(known) - 1} "
                f"or one of: {', '.join(known)}"
            )
        numbers.append(number)
    return Labels(numbers, known, "")


def _mixed(cells: list[str], whole: list[int | None], places: list[str]) -> Labels:
    if all(_is_number(cell) for cell in cells):  # of a regression: the values themselves, in their order
        names = sorted(set(cells), key=float)
        index = {name: i for i, name in enumerate(names)}
        return Labels([index[cell] for cell in cells], tuple(names), "")
    odd = next(i for i, number in enumerate(whole) if (number is None) != (whole[0] is None))
    kinds = ("an integer", "a name") if whole[0] is not None else ("a name", "an integer")
    raise DataError(
        f"{places[odd]} has the label {cells[odd][:40]!r}, {kinds[1]}, where the first row has {cells[0][:40]!r}, "
        f"{kinds[0]}; use one kind, or give the names of the labels in order"
    )


def _named(cells: list[str], names: list[str], note: str) -> Labels:
    if len(names) > MOST:
        raise DataError(
            f"the label column holds {len(names):,} different values, such as {names[0][:40]!r}; is it the label?"
        )
    index = {name: i for i, name in enumerate(names)}
    return Labels([index[cell] for cell in cells], tuple(names), note)


UNUSED = -1  # the number of a label that no example has
_BETWEEN = re.compile(r"[+|;,]")
_SHOWN = 8  # names in a message


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
            f"{f' ({_listed(names)})' if names else ''}; {_describe_remedy(count)}"
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
        raise DataError(f"--labels takes at least two names that differ, in the victim's order; got {_listed(names)}")
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
            f"rename them, or {_describe_remedy(len(names))}"
        )
    return found


def check_labels(data: Examples, other: Scores) -> None:
    """Raise unless another model scores the labels of data that is numbered as one model numbers it."""
    if are_numbers(data.labels) or names_of(other):
        agree(data, other)
    elif other.labels is not None and other.labels != len(data.labels):
        remedy = _describe_remedy(other.labels)
        raise DataError(f"{data.name} has {_counted(data.labels)}, {other.name} scores {other.labels}; {remedy}")


def number_of(names: Sequence[str], name: str | None, number: int) -> int:
    """Return the place of a label among a model's names, and its own number where it is not found by name."""
    return number if name is None else {_key(one): i for i, one in enumerate(names)}.get(_key(name), number)


def _key(name: str) -> str:
    """Return the form in which names are compared: lower case, and a set of labels (a+b, b|a, b; a) in sorted order."""
    return "+".join(sorted(filter(None, (part.strip() for part in _BETWEEN.split(name.casefold()))))) or name


def are_numbers(labels: Sequence[str]) -> bool:
    """Whether the labels are 0, 1, 2 ...: numbers of a victim's scores, not names."""
    return tuple(labels) == tuple(map(str, range(len(labels))))


def _counted(labels: Sequence[str]) -> str:
    return f"{len(labels)} label{'s' * (len(labels) != 1)} ({_listed(labels)})"


def _describe_remedy(count: int = 2) -> str:
    """Return how the labels of a victim that scores so many are named."""
    names = ",".join("abc"[:count]) + ",..." * (count > 3)
    return f"name the victim's labels in its order with --labels {names}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(name[:40] for name in names[:_SHOWN]) + more
