from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_edits import KNOWN, PAD, UNK, cut, groups, listed, whole_tokens

from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.models.tokens.batches import Bounds, batches
from malaprop.models.tokens.pieces import Pieces
from malaprop.models.tokens.splice import Frame, Splice, splice

AA, BB, CC, DD = (KNOWN[w] for w in ("aa", "bb", "cc", "dd"))


def rows(variants: list[Variants], wanted: list[int] | None = None, **how: object) -> list[list[int]]:
    pool = Pool(variants)
    index = np.arange(pool.size) if wanted is None else np.asarray(wanted)
    return listed(splice(pool, index, Pieces(cut, pool.table), Frame(**{"limit": 99, **how})))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("slot", "word", "expected"),
    [
        (0, "dd", [DD, BB, CC]),
        (2, "dd", [AA, BB, DD]),
        (1, "", [AA, CC]),
        (1, "dd dd", [AA, DD, DD, CC]),
        (1, "zz", [AA, UNK, CC]),
    ],
)
def test_one_edit(slot: int, word: str, expected: list[int]) -> None:
    table = Words()
    base = Text.of("aa bb cc", table)
    assert rows([Variants.at(base, slot, table.ids([word]))]) == [expected]


def test_several_edits_and_none() -> None:
    table = Words()
    base = Text.of("aa bb cc", table)
    fresh = table.ids(["dd", "aa aa", ""])
    variants = Variants(base, np.asarray([2, 0, 1]), fresh, np.asarray([1, 1, 2]), 4)
    assert rows([variants]) == [[AA, BB, CC], [AA, AA, BB, DD], [AA, CC], [AA, BB, CC]]
    assert rows([variants], wanted=[2, 1, 2]) == [[AA, CC], [AA, AA, BB, DD], [AA, CC]]


def test_a_row_over_the_limit_is_cut_and_closed() -> None:
    table = Words()
    base = Text.of("aa bb cc", table)
    variants = [Variants.at(base, 1, table.ids(["dd", "dd dd", ""])), Variants.itself(Text.of("", table))]
    expected = [[50, AA, DD, 51], [50, AA, DD, 51], [50, AA, CC, 51], [50, 51]]
    assert rows(variants, limit=4, head=(50,), tail=(51,)) == expected
    assert rows(variants, limit=2) == [[AA, DD], [AA, DD], [AA, CC], []]


@settings(max_examples=150, deadline=None)
@given(
    groups(),
    st.sampled_from([(99, (), ()), (99, (50,), (51,)), (7, (50,), (51,)), (5, (), ()), (6, (50,), (51, 52))]),
    st.booleans(),
    st.randoms(),
)
def test_spliced_tokens_are_those_of_the_string(
    variants: list[Variants], how: tuple, left: bool, random: object
) -> None:
    limit, head, tail = how
    pool = Pool(variants)
    wanted = np.arange(pool.size)
    random.shuffle(wanted)  # type: ignore[attr-defined]
    work = splice(pool, wanted, Pieces(cut, pool.table), Frame(limit=limit, head=head, tail=tail, left=left))
    assert listed(work) == [whole_tokens(t, limit, head, tail, left) for t in pool.texts(wanted)]
    assert work.length.tolist() == [len(row) for row in listed(work)]


@settings(max_examples=50, deadline=None)
@given(groups(), st.integers(0, 2**31))
def test_gather_reads_any_stretch_either_way(variants: list[Variants], seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = Pool(variants)
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=9, tail=(51,)))
    whole = listed(work)
    first = rng.integers(0, np.maximum(work.length, 1))
    ahead, behind = (rng.integers(0, room + 1) for room in (work.length - first, np.minimum(first + 1, work.length)))
    for back, size in ((False, ahead), (True, behind)):
        ids = work.gather(np.arange(work.count), first, size, back=back).tolist()
        for row, tokens, at, many in zip(ids, whole, first.tolist(), size.tolist(), strict=True):
            there = tokens[: at + 1][::-1] if back else tokens[at:]
            assert row == there[:many] + [PAD] * (len(row) - many)


def test_finished_rows_need_no_pool() -> None:
    work = Splice.of_rows([[5, 6], [], [5, 6, 7, 8]], limit=5, head=(1,), tail=(2,))
    assert listed(work) == [[1, 5, 6, 2], [1, 2], [1, 5, 6, 7, 2]]


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=80),
    st.builds(
        Bounds,
        rows=st.integers(1, 16),
        tokens=st.integers(1, 300),
        waste=st.sampled_from([0.0, 0.2, 1.0]),
        small=st.sampled_from([0, 90]),
    ),
    st.booleans(),
)
def test_batches_hold_every_row_once_within_bounds(sizes: list[int], bounds: Bounds, even: bool) -> None:
    length = np.asarray(sizes)
    parts = list(batches(length, bounds, even=even))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(sizes)))
    for part in parts:
        here = np.maximum(length[part], 1)
        padded = int(here.max()) * len(part)
        assert len(part) == 1 or (len(part) <= bounds.rows and padded <= bounds.tokens)
        assert padded - here.sum() <= bounds.waste * padded + 1e-9 or padded <= bounds.small
        assert not even or here.min() == here.max()


def test_rows_of_one_length_fill_their_batches() -> None:
    assert [len(b) for b in batches(np.full(70, 9), Bounds(rows=32))] == [32, 32, 6]
    assert [len(b) for b in batches(np.full(70, 9), Bounds(rows=32, tokens=99))] == [11] * 6 + [4]
    mixed = np.asarray([2, 9, 2, 9, 2])
    assert [len(b) for b in batches(mixed, Bounds(waste=0.2))] == [3, 2]
    assert [len(b) for b in batches(mixed, Bounds(waste=0.2, small=45))] == [5]  # 45 tokens with padding
    assert [len(b) for b in batches(mixed, Bounds(waste=0.2, small=45), even=True)] == [3, 2]
    assert [len(b) for b in batches(mixed, Bounds(waste=0.2, small=44))] == [4, 1]
