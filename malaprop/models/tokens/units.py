"""Units: texts cut at white space, for tokenizers whose tokens reach over a word's edge into the space before it."""

from __future__ import annotations

import re
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from malaprop.core.distinct import find_firsts
from malaprop.core.pool import Pool
from malaprop.core.text import BREAK, Ints, Text, Words
from malaprop.models.tokens.pieces import Cut, Pieces

_EDGE = re.compile(rf"[\s{BREAK}]")
_SPECIAL = re.compile(r"[<\[|]")  # as in <unk>, [UNK], <|endoftext|>
_FIRST, _INNER, _LAST = range(3)  # gaps: before the first word, between two, behind the last


class _Gap(NamedTuple):
    """A gap in three: what clings to the word before it, the rest, and what clings to the word behind it."""

    suffix: int
    rest: int
    prefix: int
    joins: bool  # no white space at all: the two words are one unit
    newline: bool  # a line ends right behind the suffix, which some tokenizers join with signs before it


class BaseUnits(NamedTuple):
    """A base as strings that are cut each for itself: `parts` are ids of `Units.made`, as many as the base has.

    `around` says for each slot what clings to its word, as a number; -1: the slot's word is not a unit of its own.
    """

    parts: Ints
    around: Ints


class Units:
    """Of each word the unit that it stands in: the word, the signs that cling to it, and the one space before them.

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
        """The ids in `made` of these words within what clings to them; -1 where that would change a unit's edges."""
        out = np.full(len(word), -1, np.int64)
        good = np.flatnonzero((around >= 0) & ~self._odd_words()[word])
        keys = around[good] | word[good]
        first, place = find_firsts(keys)
        out[good] = np.fromiter(map(self._id, keys[first].tolist()), np.int64, len(first))[place]
        return out

    def view(self, pool: Pool, laid: dict[int, BaseUnits], wanted: Ints) -> tuple[Pool, NDArray[np.bool_]]:
        """The pool in ids of `made`, and which of the wanted variants it holds; `laid` has the bases that it can."""
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
        """Several words that nothing but signs parts."""
        affixes, strings = self._affixes.strings, self.table.strings
        inner = "".join(strings[part] for part in parts[2 * at + 1 : 2 * end].tolist())
        return self.made.id(self._string(affixes[split[at].prefix] + inner + affixes[split[end].suffix]))

    def _string(self, string: str) -> str:
        return string[1:] if self.bare and string[:1] == " " else string

    def _odd_words(self) -> NDArray[np.bool_]:
        """For each string of the table whether it is no word, or one with white space at an edge.

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
    """Affixes beyond what there is room for are not told apart from none: `Units.lay` would then be found wrong."""
    assert suffix <= _MOST, "a table of words has fewer gaps than that"
    return prefix << _PREFIX | suffix << _SUFFIX
