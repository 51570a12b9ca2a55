"""The strings from which a text is tokenized: its words and gaps, or its stretches between white space."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from malaprop.core.distinct import find_firsts, find_used
from malaprop.core.pool import Pool
from malaprop.core.text import BREAK, Ints, Text, Words
from malaprop.models.tokens.pieces import Cut, Pieces

_EDGE = re.compile(rf"[\s{BREAK}]")
_SPECIAL = re.compile(r"[<\[|]")  # as in <unk>, [UNK], <|endoftext|>
_FIRST, _INNER, _LAST = range(3)  # gaps: before the first word, between two, behind the last


class _Gap(NamedTuple):
    """A gap in three parts: signs that cling to the word before it, the rest, signs that cling to the next word."""

    suffix: int
    rest: int
    prefix: int
    joins: bool  # no white space at all: the two words are one unit
    newline: bool  # a line ends right behind the suffix, which some tokenizers join with signs before it


class BaseUnits(NamedTuple):
    """A base as strings that are each tokenized alone: `parts` are ids of `Units.made`, one for each part.

    `around` says for each slot what clings to its word, as a number; -1: the slot's word is not a unit of its own.
    """

    parts: Ints
    around: Ints


class Units:
    """Maps each word to its unit: the word, the signs that cling to it, and the one space before them.

    Byte-level and SentencePiece tokenizers never join what white space parts, but they make the space a part of the
    next token: so the tokens of a text are those of its units. With `bare` the space is left out, for tokenizers that
    put one before whatever they are given. Callers check that for each base; the words that may come in a unit's place
    (`words`) keep its edges as they are.
    """

    def __init__(self, cut: Cut, table: Words, *, bare: bool = False) -> None:
        self.table, self.bare = table, bare
        self.made = Words()
        self.pieces = Pieces(cut, self.made)
        self._affixes = Words()
        self._gaps: dict[tuple[int, int], _Gap] = {}
        self._ids: dict[int, int] = {}  # of `made`, by affixes and word
        self._odd: NDArray[np.bool_] = np.zeros(0, bool)

    def lay(self, base: Text) -> BaseUnits:
        gaps, words = base.parts[0::2].tolist(), base.parts[1::2].tolist()
        if not words:
            return BaseUnits(np.asarray([self.made.id(self.table.strings[gaps[0]])]), np.zeros(0, np.int64))
        kinds = [_FIRST, *[_INNER] * (len(words) - 1), _LAST]
        split = [self._gap(gap, kind) for gap, kind in zip(gaps, kinds, strict=True)]
        out = np.zeros(len(base.parts), np.int64)
        around = np.full(len(words), -1, np.int64)
        out[0] = split[0].rest
        at = 0
        while at < len(words):
            end = at + 1
            while split[end].joins and end < len(words):
                end += 1
            out[2 * end] = split[end].rest
            context = _pack(split[at].prefix, split[end].suffix)
            if end == at + 1:
                out[2 * at + 1] = self._id(context | words[at])
                around[at] = -1 if split[end].newline else context
            else:
                out[2 * at + 1] = self._joined(base.parts, at, end, split)
            at = end
        return BaseUnits(out, around)

    def words(self, around: Ints, word: Ints) -> Ints:
        """Return the ids in `made` of these words within what clings to them; -1 where that changes a unit's edges."""
        out = np.full(len(word), -1, np.int64)
        good = np.flatnonzero((around >= 0) & ~self._odd_words()[word])
        keys = around[good] | word[good]
        first, place = find_firsts(keys)
        out[good] = np.fromiter(map(self._id, keys[first].tolist()), np.int64, len(first))[place]
        return out

    def view(self, pool: Pool, laid: dict[int, BaseUnits], wanted: Ints) -> tuple[Pool, NDArray[np.bool_]]:
        """Return the pool in ids of `made`, and which wanted variants it holds; `laid` has the bases it can express."""
        seen = copy(pool)
        seen.parts = np.zeros_like(pool.parts)
        around = np.full(len(pool.parts) // 2 + 1, -1, np.int64)
        first = pool.offset // 2  # at most half of the parts before a base are slots
        for number, base in laid.items():
            low = int(pool.offset[number])
            seen.parts[low : low + len(base.parts)] = base.parts
            around[first[number] : first[number] + len(base.around)] = base.around
        used = np.zeros(pool.size, bool)
        used[wanted] = True
        mine = np.flatnonzero(used[pool.row])
        seen.word = np.zeros_like(pool.word)
        found = self.words(around[first[pool.base[pool.row[mine]]] + pool.slot[mine]], pool.word[mine])
        seen.word[mine] = np.maximum(found, 0)
        good = np.zeros(len(pool.bases), bool)
        good[list(laid)] = True
        fine = good[pool.base]
        fine[pool.row[mine[found < 0]]] = False
        return seen, fine[wanted]

    def _gap(self, gap: int, kind: int) -> _Gap:
        key = (gap, kind)
        if key not in self._gaps:
            self._gaps[key] = self._split(self.table.strings[gap], kind)
        return self._gaps[key]

    def _split(self, gap: str, kind: int) -> _Gap:
        edges = [found.start() for found in _EDGE.finditer(gap)]
        if not edges:
            name = self._affixes.id(gap)
            return _Gap(name if kind != _FIRST else 0, 0, name if kind == _FIRST else 0, kind == _INNER, False)
        suffix = "" if kind == _FIRST else gap[: edges[0]]
        prefix = "" if kind == _LAST else gap[edges[-1] + (gap[edges[-1]] != " ") :]
        rest = gap[len(suffix) : len(gap) - len(prefix)]
        return _Gap(
            self._affixes.id(suffix),
            self.made.id(self._string(rest)),
            self._affixes.id(prefix),
            False,
            kind != _FIRST and gap[edges[0]] in "\r\n",
        )

    def _id(self, key: int) -> int:
        found = self._ids.get(key)
        if found is None:
            affixes, strings = self._affixes.strings, self.table.strings
            whole = affixes[key >> _PREFIX] + strings[key & _WORDS] + affixes[(key >> _SUFFIX) & _MOST]
            found = self._ids[key] = self.made.id(self._string(whole))
        return found

    def _joined(self, parts: Ints, at: int, end: int, split: list[_Gap]) -> int:
        """Return the id of a unit of several words that only signs separate."""
        affixes, strings = self._affixes.strings, self.table.strings
        inner = "".join(strings[part] for part in parts[2 * at + 1 : 2 * end].tolist())
        return self.made.id(self._string(affixes[split[at].prefix] + inner + affixes[split[end].suffix]))

    def _string(self, string: str) -> str:
        return string[1:] if self.bare and string[:1] == " " else string

    def _odd_words(self) -> NDArray[np.bool_]:
        """Return for each string of the table whether it has white space at an edge or cannot be a word.

        Around special tokens, a tokenizer that puts a space before whatever it is given puts another one.
        """
        fresh = self.table.strings[len(self._odd) :]
        if fresh:
            special = _SPECIAL.search if self.bare else lambda _string: None
            odd = (s.strip() != s or not s or BREAK in s or special(s) is not None for s in fresh)
            self._odd = np.concatenate([self._odd, np.fromiter(odd, bool, len(fresh))])
        return self._odd


_SUFFIX, _PREFIX = 32, 47  # bits: the word below, then the suffix, then the prefix
_MOST, _WORDS = (1 << (_PREFIX - _SUFFIX)) - 1, (1 << _SUFFIX) - 1


def _pack(prefix: int, suffix: int) -> int:
    """Pack the numbers of two affixes above a word's bits; one too large is lost, which `Units.lay` then shows."""
    assert suffix <= _MOST, "a table of words has fewer gaps than that"
    return prefix << _PREFIX | suffix << _SUFFIX


Join = Literal["parts", "units", "bare"]
Encode = Callable[[Sequence[Text]], Sequence[Sequence[int]]]  # whole texts to tokens, without special ones
Flags = NDArray[np.bool_]


class Joined(Protocol):
    """The tokens of one table of words: `pieces` holds them by the ids of the pools that `view` returns."""

    @property
    def table(self) -> Words: ...

    @property
    def pieces(self) -> Pieces: ...

    def view(self, pool: Pool, wanted: Ints, encode: Encode) -> tuple[Pool, Flags]:
        """Return the pool in ids of `pieces`, and which of the wanted variants have exactly its tokens."""


def join(how: Join, cut: Cut, table: Words, *, context_free: bool = False) -> Joined:
    if how == "parts":
        return PartTokens(cut, table, context_free=context_free)
    return JoinedUnits(cut, table, bare=how == "bare")


class PartTokens:
    """Tokenizes each word and gap alone: right for tokenizers that split at every space and sign and drop spaces.

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
    """Tokenizes each stretch between white space alone, with the space before it (see `Units`)."""

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
    """Return the bases of the wanted variants, their keys, and those whose key is new."""
    used = find_used(pool.base[wanted], len(pool.bases))[0].tolist()
    keys = {b: pool.bases[b].parts.tobytes() for b in used}
    return used, keys, {key: pool.bases[b] for b, key in keys.items() if key not in known}


def best_join(cut: Cut, texts: Sequence[str]) -> Join:
    """Return the way of joining that gives most of these texts their own tokens; of equals the first."""
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
