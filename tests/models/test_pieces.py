from __future__ import annotations

import numpy as np

from malaprop.core.text import BREAK, Words
from malaprop.models.tokens.pieces import Pieces, at_breaks, runs


def letters(strings: list[str]) -> list[list[int]]:
    assert BREAK not in "".join(strings)
    return [[ord(c.lower()) for c in s if c != " "] for s in strings]


def test_runs_are_ranges_one_after_another() -> None:
    assert runs(np.asarray([5, 0, 9]), np.asarray([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert runs(np.asarray([], np.int64), np.asarray([], np.int64)).tolist() == []


def test_pieces_grow_with_the_table_and_cut_each_string_once() -> None:
    table, seen = Words(), []

    def cut(strings: list[str]) -> list[list[int]]:
        seen.extend(strings)
        return letters(strings)

    pieces = Pieces(cut, table)
    early = table.ids(["ab", " ", "AB", "c"])
    pieces.grow()
    late = table.ids([f"word{i}" * 40 for i in range(3000)])  # far beyond the first capacity of every array
    classes = pieces.classes()
    pieces.grow()
    assert seen == table.strings
    assert pieces.tokens(early).tolist() == [97, 98, 97, 98, 99]
    assert pieces.tokens(late[-1:]).tolist() == letters(["word2999" * 40])[0]
    assert len(classes) == len(table)


def test_strings_of_equal_tokens_share_a_class() -> None:
    table = Words()
    ids = table.ids(["ab", "AB", "a b", "ba", " "])
    classes = Pieces(letters, table).classes()
    assert len({int(classes[i]) for i in ids[:3]}) == 1
    assert classes[ids[3]] != classes[ids[0]]
    assert classes[ids[4]] == classes[0], "a blank gap and a deleted word have no tokens alike"


def test_a_cutter_beside_breaks_never_sees_them() -> None:
    cut = at_breaks(letters, [7, 8])
    assert cut(["a", f"b{BREAK}{BREAK}c", BREAK]) == [[97], [98, 7, 8, 7, 8, 99], [7, 8]]
