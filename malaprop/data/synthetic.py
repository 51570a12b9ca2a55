"""Synthetic pairs of sentences for entailment, whose labels follow from how each pair is built."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any, NamedTuple

from malaprop.core.example import PAIR, number_rows
from malaprop.data.base import Dataset, check_split, editable
from malaprop.data.matching import ENTAILMENT

NAMES = ("entailment-synthetic",)
SIZES = {"train": 9_000, "validation": 1_000, "test": 1_000}
_SLOTS = ("adjective", "person", "act", "thing", "place")


class _Dice:
    """A random generator by hashing, as a library's own may give other numbers in its next version."""

    def __init__(self, *seed: object) -> None:
        self._seed, self._thrown = "\x1f".join(map(str, seed)), 0

    def below(self, count: int) -> int:
        self._thrown += 1
        digest = blake2b(f"{self._seed}\x1f{self._thrown}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % count

    def one(self, items: Sequence[Any]) -> Any:
        return items[self.below(len(items))]

    def some(self, items: Sequence[Any], most: int) -> list[Any]:
        """Return a random choice of up to `most` items."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(self.below(min(most, len(left)) + 1))]


class Moves(NamedTuple):
    """Replacements of a word by logical relation: implied by it, implying it, or excluded by it."""

    weaker: tuple[str, ...] = ()
    stronger: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The words of one sentence: somebody does something to something somewhere; empty words are omitted."""

    adjective: str
    person: str
    act: str
    thing: str
    place: str

    def said(self, form: int) -> str:
        who = " ".join(word for word in (self.adjective, self.person) if word)
        who = f"{'an' if who[0] in 'aeiou' else 'a'} {who}"
        doing = f"{self.act} {self.thing}"
        if form == 1 and self.place:
            return _sentence(f"{self.place} {who} is {doing}")
        if form == 2:
            return _sentence(f"there is {who} {doing} {self.place}")
        return _sentence(f"{who} is {doing} {self.place}")


def _sentence(words: str) -> str:
    words = words.strip()
    return f"{words[0].upper()}{words[1:]}."


@lru_cache(maxsize=1)
def words() -> Mapping[str, Any]:
    """Return the words of the scenes by kind."""
    return tomllib.loads(files("malaprop.data").joinpath("words", "entailment.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _moves() -> Mapping[str, Mapping[str, Moves]]:
    """Return the replacements of each word of each slot."""
    found = words()
    table = {slot: _tree(found[part], top) for slot, part, top in _TREES}
    opposites = [*found["opposites"].items(), *((b, a) for a, b in found["opposites"].items())]
    table["adjective"] = {a: Moves(weaker=("",), other=(b,)) for a, b in opposites}
    table["adjective"][""] = Moves(stronger=tuple(a for a, _ in opposites))
    kinds = tuple(kind for row in found["places"].values() for kind in row)
    table["place"][""] = Moves(stronger=kinds)
    return table


_TREES = (("person", "people", ("person",)), ("act", "acts", ()), ("thing", "things", ()), ("place", "places", ("",)))


def _tree(kinds: Mapping[str, Sequence[str]], top: tuple[str, ...]) -> dict[str, Moves]:
    table = {}
    for general, row in kinds.items():
        table[general] = Moves(weaker=top, stronger=tuple(row))
        for kind in row:
            table[kind] = Moves(weaker=(general, *top), other=tuple(k for k in row if k != kind))
    return table


def pair(seed: int, split: str, at: int) -> tuple[str, str, int]:
    """Build premise, hypothesis and label of one row.

    The hypothesis is the premise with words made weaker (entailment); or one made stronger, which may but need not be
    so (neutral); or one put for another that excludes it (contradiction). Further words may be weaker, too.
    """
    dice = _Dice(seed, split, at)
    label = dice.below(len(ENTAILMENT))
    kind = ("weaker", "stronger", "other")[label]
    while True:
        scene = _scene(dice)
        open_ = [slot for slot in _SLOTS if getattr(_moves()[slot][getattr(scene, slot)], kind)]
        if open_:
            break
    first = dice.one(open_)
    changed = {first: dice.one(getattr(_moves()[first][getattr(scene, first)], kind))}
    rest = [slot for slot in _SLOTS if slot != first and _moves()[slot][getattr(scene, slot)].weaker]
    for slot in dice.some(rest, 2):
        changed[slot] = dice.one(_moves()[slot][getattr(scene, slot)].weaker)
    return scene.said(dice.below(3)), replace(scene, **changed).said(dice.below(3)), label


def _scene(dice: _Dice) -> Scene:
    found = words()
    drawn = {slot: dice.one(list(found[part].items())) for slot, part, _ in _TREES}
    named = {slot: general if dice.below(10) < 3 else dice.one(kinds) for slot, (general, kinds) in drawn.items()}
    if dice.below(10) < 3:
        named["place"] = ""
    adjective = dice.one(list(_moves()["adjective"])) if dice.below(10) < 6 else ""
    return Scene(adjective=adjective, **named)


@lru_cache(maxsize=8)
def load(name: str, split: str = "test", *, seed: int = 0) -> Dataset:
    """Load one split; no pair is in two splits."""
    parts = _parts(seed)
    return Dataset(
        name=f"{name}:{check_split(split)}",
        examples=tuple(number_rows((row for row in parts[split]), editable(PAIR))),
        labels=ENTAILMENT,
        fields=PAIR,
    )


@lru_cache(maxsize=2)
def _parts(seed: int) -> Mapping[str, list[tuple[dict[str, str], int]]]:
    seen: set[tuple[str, str]] = set()
    parts: dict[str, list[tuple[dict[str, str], int]]] = {}
    for split, size in SIZES.items():
        rows: list[tuple[dict[str, str], int]] = []
        at = 0
        while len(rows) < size:
            premise, hypothesis, label = pair(seed, split, at)
            at += 1
            if (premise, hypothesis) not in seen:
                seen.add((premise, hypothesis))
                rows.append((dict(zip(PAIR, (premise, hypothesis), strict=True)), label))
        parts[split] = rows
    return parts
