"""Replacements that differ from a word in a character or two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, get_args

import numpy as np

from malaprop.attacks.candidates.lookup import remembered
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints, word_pattern

Kind = Literal["swap", "drop", "insert", "substitute", "keyboard", "homoglyph", "digit", "space"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_WIDE = 1.65  # key widths: with these also the keys that touch at a corner are neighbours, as TextAttack has it
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_UPPER = LETTERS.upper()
_PLACES = (
    64  # of a word, at most, where edits are tried: a token of 5,000 letters would have 650 million characters of them
)


@cache
def _keyboard(wide: bool = False) -> dict[str, tuple[str, ...]]:
    from malaprop.assets.lexicon import keyboard

    return keyboard(reach=_WIDE) if wide else keyboard()


@cache
def _digits() -> dict[str, tuple[str, ...]]:
    from malaprop.assets.lexicon import digits_alike

    return digits_alike()


@cache
def _homoglyphs() -> dict[str, tuple[str, ...]]:
    from malaprop.assets.lexicon import homoglyphs

    return homoglyphs()


def _like(letter: str, near: str) -> str:
    return letter.upper() if near.isupper() else letter


def _places(first: int, last: int) -> list[int]:
    """From first to last; of more than `_PLACES` an even sample."""
    many = last + 1 - first
    return [first + i * many // _PLACES for i in range(_PLACES)] if many > _PLACES else [*range(first, last + 1)]


def edits(word: str, kind: Kind, first: int, last: int, *, wide: bool = False) -> Iterator[tuple[int, str]]:
    """Every word one edit of this kind away, with its place; edits touch characters `first` to `last` alone.

    Of a word longer than any that people write, edits are tried at places spread over it. `wide`: keys that touch at a
    corner are neighbours too.
    """
    for i in _places(first, last):
        here, before, after = word[i], word[:i], word[i + 1 :]
        if kind == "swap" and i < last and here != word[i + 1]:
            yield i, before + word[i + 1] + here + after[1:]
        elif kind == "drop":
            yield i, before + after
        elif kind == "insert":
            yield from ((i, before + _like(c, here) + here + after) for c in LETTERS)
        elif kind == "substitute":
            yield from ((i, before + _like(c, here) + after) for c in LETTERS if c != here.lower())
        elif kind == "keyboard":
            yield from ((i, before + _like(c, here) + after) for c in _keyboard(wide).get(here.lower(), ()))
        elif kind == "digit":
            yield from ((i, before + c + after) for c in _digits().get(here.lower(), ()))
        elif kind == "space" and i:
            yield i, f"{before} {here}{after}"
        elif kind == "homoglyph":
            yield from ((i, before + c + after) for c in _homoglyphs().get(here, ()))


def _letters(word: str, first: int, last: int, *, instead: bool) -> Iterator[str]:
    """The edits `insert` or `substitute` of a word of plain letters: what comes out is always a word."""
    for i in range(first, last + 1):
        here, before, after = word[i], word[:i], word[i + instead :]
        letters = _UPPER if here.isupper() else LETTERS
        yield from [before + c + after for c in letters if not instead or c != here]


@dataclass(frozen=True, slots=True, kw_only=True)
class CharEdits:
    """Words one character edit away.

    Of each kind all edits are offered, or `each` drawn by the example's seed. `inner` spares the first and the last
    character, which readers lean on. What would no longer be one word of its slot is left out, unless a space is put
    into it. `wide`: keys that touch at a corner are neighbours too. `single`: at each place one letter drawn by the
    seed is inserted, in either case, not each of the alphabet.
    """

    kinds: tuple[Kind, ...] = ("swap", "drop", "insert", "substitute")
    each: int | None = None
    inner: bool = False
    wide: bool = False
    single: bool = False

    def __post_init__(self) -> None:
        if not self.kinds or any(k not in _KINDS for k in self.kinds):
            raise SettingError(f"CharEdits.kinds takes some of {', '.join(_KINDS)}, got {self.kinds}")
        if self.each is not None and self.each < 1:
            raise SettingError(f"CharEdits.each must be at least 1, got {self.each}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings = trial.origin.table, trial.origin.strings
        out = []
        for slot in slots.tolist():
            word = strings[slot]
            if self.each is None and not self.single:
                make = lambda w=word: (e for kind in self.kinds for e in self._all(w, kind))  # noqa: E731
                out.append(remembered(table, ("chars", self, word), word, make, cased=False))
            else:
                drawn = self._drawn(word, trial.generator("chars", str(slot)))
                out.append(table.ids(sorted({w for w in drawn if w != word})))
        return out

    def _all(self, word: str, kind: Kind) -> list[str]:
        first, last = self._ends(word)
        if kind in ("insert", "substitute") and word.isascii() and word.isalpha() and len(word) <= _PLACES:
            return list(_letters(word, first, last, instead=kind == "substitute"))
        whole = word_pattern().fullmatch
        found = edits(word, kind, first, last, wide=self.wide)
        return [made for _, made in found if made and (kind == "space" or whole(made))]

    def _ends(self, word: str) -> tuple[int, int]:
        return (1, len(word) - 2) if self.inner else (0, len(word) - 1)

    def _drawn(self, word: str, rng: np.random.Generator) -> Iterator[str]:
        for kind in self.kinds:
            if self.single and kind == "insert":
                places = _places(*self._ends(word))
                letters = [(LETTERS + LETTERS.upper())[i] for i in rng.integers(2 * len(LETTERS), size=len(places))]
                made = sorted({word[:i] + c + word[i:] for i, c in zip(places, letters, strict=True)})
            else:
                made = _sorted_edits(self, word, kind)
            if self.each is not None and len(made) > self.each:
                made = [made[i] for i in sorted(rng.choice(len(made), self.each, replace=False).tolist())]
            yield from made


@lru_cache(maxsize=1 << 10)
def _sorted_edits(edits: CharEdits, word: str, kind: Kind) -> list[str]:
    """All edits of a word, each once; texts have many words in common, and a second try asks for them again."""
    return sorted(set(edits._all(word, kind)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Homoglyphs:
    """Look-alikes: one letter of the word, or all that have one, put for a letter of another alphabet."""

    whole: bool = True
    most: int | None = None  # look-alikes of one letter; None: all that the table has

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 1:
            raise SettingError(f"Homoglyphs.most must be at least 1, got {self.most}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings = trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("homoglyphs", self, w), w, lambda w=w: self._made(w), cased=False)  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]

    def _made(self, word: str) -> Iterator[str]:
        for i in _places(0, len(word) - 1):
            yield from (word[:i] + twin + word[i + 1 :] for twin in _homoglyphs().get(word[i], ())[: self.most])
        if self.whole:
            yield "".join(_homoglyphs().get(c, (c,))[0] for c in word)
