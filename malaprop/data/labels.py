"""Read the labels of files as numbers from 0, with the names of the labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from malaprop.core.errors import DataError

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
