"""Of which strings the tokens of a text are put together, and which variants can be made of such tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from malaprop.core.distinct import find_used
from malaprop.core.pool import Pool
from malaprop.core.text import Ints, Text, Words
from malaprop.models.tokens.pieces import Cut, Pieces
from malaprop.models.tokens.units import BaseUnits, Units

Join = Literal["parts", "units", "bare"]
Encode = Callable[[Sequence[Text]], Sequence[Sequence[int]]]  # whole texts to tokens, without special ones
Flags = NDArray[np.bool_]


class Joined(Protocol):
    """What is known of one table of words; its tokens are in `pieces`, by the ids of the pools it gives."""

    @property
    def table(self) -> Words: ...

    @property
    def pieces(self) -> Pieces: ...

    def view(self, pool: Pool, wanted: Ints, encode: Encode) -> tuple[Pool, Flags]:
        """The pool in ids of `pieces`, and which of the wanted variants have the tokens that it says."""


def join(how: Join, cut: Cut, table: Words, *, context_free: bool = False) -> Joined:
    if how == "parts":
        return JoinedParts(cut, table, context_free=context_free)
    return JoinedUnits(cut, table, bare=how == "bare")


class JoinedParts:
    """Words and gaps, cut each by itself: right for tokenizers that split at every space and sign and drop spaces.

    A base is held against its whole string, so that a token over the edge of a word is noticed. With `context_free`
    there can be none.
    """

    def __init__(self, cut: Cut, table: Words, *, context_free: bool = False) -> None:
        self.table, self.pieces, self.context_free = table, Pieces(cut, table), context_free
        self._spaces = not context_free and any(map(len, cut([" "])))  # then a word deleted is also a space less
        self._good: dict[bytes, bool] = {}  # by the parts of a base

    def view(self, pool: Pool, wanted: Ints, encode: Encode) -> tuple[Pool, Flags]:
        if self.context_free:
            return pool, np.ones(len(wanted), bool)
        used, keys, fresh = _bases(pool, wanted, self._good)
        if fresh:
            self.pieces.grow()
            for (key, base), tokens in zip(fresh.items(), encode([*fresh.values()]), strict=True):
                self._good[key] = self.pieces.tokens(base.parts).tolist() == list(tokens)
        good = np.zeros(len(pool.bases), bool)
        good[used] = [self._good[keys[b]] for b in used]
        fine = good[pool.base[wanted]]
        if self._spaces and not pool.word.all():
            deletes = np.zeros(pool.size, bool)
            deletes[pool.row[pool.word == 0]] = True
            fine &= ~deletes[wanted]
        return pool, fine


class JoinedUnits:
    """What white space parts, cut each with the space before it (see `Units`)."""

    def __init__(self, cut: Cut, table: Words, *, bare: bool = False) -> None:
        self.table, self._units = table, Units(cut, table, bare=bare)
        self._laid: dict[
            bytes, BaseUnits | None
        ] = {}  # by the parts of a base; None: its tokens are not those of its units

    @property
    def pieces(self) -> Pieces:
        return self._units.pieces

    def view(self, pool: Pool, wanted: Ints, encode: Encode) -> tuple[Pool, Flags]:
        used, keys, fresh = _bases(pool, wanted, self._laid)
        if fresh:
            laid = [self._units.lay(base) for base in fresh.values()]
            self.pieces.grow()
            for key, one, tokens in zip(fresh, laid, encode([*fresh.values()]), strict=True):
                self._laid[key] = one if self.pieces.tokens(one.parts).tolist() == list(tokens) else None
        known = {b: found for b in used if (found := self._laid[keys[b]]) is not None}
        return self._units.view(pool, known, wanted)


def _bases(
    pool: Pool, wanted: Ints, known: dict[bytes, bool] | dict[bytes, BaseUnits | None]
) -> tuple[list[int], dict[int, bytes], dict[bytes, Text]]:
    """The bases of the wanted variants, their keys, and those that are not known yet."""
    used = find_used(pool.base[wanted], len(pool.bases))[0].tolist()
    keys = {b: pool.bases[b].parts.tobytes() for b in used}
    return used, keys, {key: pool.bases[b] for b, key in keys.items() if key not in known}


def best_join(cut: Cut, texts: Sequence[str]) -> Join:
    """The way that gives most of these texts their own tokens; the first of equals."""
    whole = cut(list(texts))
    table = Words()
    bases = [Text.of(text, table) for text in texts]
    counts: dict[Join, int] = {}
    for how in ("parts", "units", "bare"):
        if how == "parts":
            parts = Pieces(cut, table)
            parts.grow()
            rows = [parts.tokens(base.parts) for base in bases]
        else:
            units = Units(cut, table, bare=how == "bare")
            laid = [units.lay(base) for base in bases]
            units.pieces.grow()
            rows = [units.pieces.tokens(one.parts) for one in laid]
        counts[how] = sum(row.tolist() == list(own) for row, own in zip(rows, whole, strict=True))
    return max(counts, key=lambda how: counts[how])
