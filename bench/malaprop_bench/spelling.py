"""The table of spelling correction against character attacks, from records of `malaprop study defences`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from malaprop.frame.records.summary import Rate

HEAD = (
    "victim", "texts", "attack", "right without attack", "behind `purify:spell`", "right under attack",
    "the same texts behind `purify:spell`", "an attack that knows it",
)  # fmt: skip


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each victim and attack; the second defence of a record is that of the table."""
    return [
        [
            held["victim"], held["data"].partition(":")[0], f"`{attack}`", *map(_rate, (none["clean"], spell["clean"])),
            _rate(plain["active"]["accuracy"]), _rate(guarded["transferred"]), _rate(guarded["active"]["accuracy"]),
        ]
        for held in records
        for none, spell in [held["rows"]]
        for attack, plain, guarded in zip_attacks(held["attack"], none, spell)
    ]  # fmt: skip


def zip_attacks(
    first: str, none: Mapping[str, Any], spell: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each attack with its figures without the defence and with it."""
    yield first, none, spell
    for plain, guarded in zip(none["others"], spell["others"], strict=True):
        yield guarded["attack"], plain, guarded


def _rate(found: Mapping[str, Any]) -> str:
    return str(Rate(found["hits"], found["total"]))
