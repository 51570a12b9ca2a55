"""Variants and Pool against a naive model: a list of finished texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.pool import Pool, mix
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants

WORDS = ["a", "b", "c", "A", "", "two words"]
STARTS = ["a", "a b", "b a", "c b a b", "a, b. c! a b a", "..."]


def words_of(text: Text) -> tuple[str, ...]:
    return tuple(text.strings)


@st.composite
def variants(draw: st.DrawFn, table: Words | None = None, owner: int = 0) -> tuple[Variants, list[tuple[str, ...]]]:
    """Variants, and the words that each ought to hold."""
    table = Words() if table is None else table
    base = Text.of(draw(st.sampled_from(STARTS)), table, owner)
    if base.slots and draw(st.booleans()):
        base = base.put(draw(st.integers(0, base.slots - 1)), draw(st.sampled_from(WORDS)))
    here = list(base.strings)
    if not here:
        many = draw(st.integers(1, 2))
        none = np.empty(0, np.int64)
        return Variants(base, none, none, none, many), [()] * many
    slots = st.integers(0, base.slots - 1)
    if draw(st.booleans()):
        edits = draw(st.lists(st.tuples(slots, st.sampled_from(WORDS)), max_size=6))
        made = Variants(base, np.asarray([s for s, _ in edits], np.int64), table.ids(w for _, w in edits))
        rows = [{s: w} for s, w in edits]
    else:
        rows = draw(st.lists(st.dictionaries(slots, st.sampled_from(WORDS), max_size=3), max_size=5))
        flat = [(r, s, w) for r, row in enumerate(rows) for s, w in row.items()]
        flat = draw(st.permutations(flat))
        made = Variants(
            base,
            np.asarray([s for _, s, _ in flat], np.int64),
            table.ids(w for *_, w in flat),
            np.asarray([r for r, *_ in flat], np.int64),
            len(rows),
        )
    return made, [tuple(row.get(s, w) for s, w in enumerate(here)) for row in rows]


@given(variants(), st.data())
def test_variants_against_finished_texts(drawn, data):
    made, naive = drawn
    assert made.count == len(naive)
    assert [words_of(text) for text in made.texts()] == naive
    count = data.draw(st.integers(0, made.count + 1))
    assert [words_of(text) for text in made.first(count).texts()] == naive[:count]
    flags = np.asarray(data.draw(st.lists(st.booleans(), min_size=made.count, max_size=made.count)), np.bool_)
    kept = made.keep(flags)
    assert kept.count == flags.sum()
    assert [words_of(text) for text in kept.texts()] == [n for n, f in zip(naive, flags, strict=True) if f]
    origin = Text(made.base.table, made.base.parts.copy(), 0)
    if origin.slots:
        origin = origin.put(data.draw(st.integers(0, origin.slots - 1)), data.draw(st.sampled_from(WORDS)))
    expected = [sum(a != b for a, b in zip(n, origin.strings, strict=True)) for n in naive]
    assert made.changes(origin).tolist() == expected
    again = Variants.between(made.base, made.texts())
    assert [words_of(text) for text in again.texts()] == naive


def test_ways_to_make_variants():
    table = Words()
    base = Text.of("a b", table, 7)
    assert [str(t) for t in Variants.itself(base).texts()] == ["a b"]
    assert [str(t) for t in Variants.at(base, 1, table.ids(["x", "y"])).texts()] == ["a x", "a y"]
    each = Variants.each(base, np.asarray([1, 0]), [table.ids(["x"]), table.ids(["y", "z"])])
    assert [str(t) for t in each.texts()] == ["a x", "y b", "z b"]
    assert Variants.each(base, np.empty(0, np.int64), []).count == 0
    assert Variants.each(base, np.asarray([0]), [table.ids([])]).count == 0
    assert Variants.between(base, []).count == 0
    assert {t.owner for t in each.texts()} == {7}


@st.composite
def rounds(draw: st.DrawFn) -> tuple[list[Variants], list[tuple[int, tuple[str, ...]]]]:
    table = Words()
    groups, naive = [], []
    for _ in range(draw(st.integers(1, 4))):
        owner = draw(st.integers(0, 2))
        made, rows = draw(variants(table, owner))
        groups.append(made)
        naive += [(owner, row) for row in rows]
    return groups, naive


def gaps(text: Text) -> tuple[int, ...]:
    return tuple(text.parts[::2].tolist())


@given(rounds())
def test_keys_are_equal_for_the_same_owner_and_the_same_text_alone(drawn):
    groups, naive = drawn
    pool = Pool(groups)
    assert pool.size == len(naive)
    texts = pool.texts(np.arange(pool.size))
    assert [(t.owner, words_of(t)) for t in texts] == naive
    names = [(owner, words, gaps(text)) for (owner, words), text in zip(naive, texts, strict=True)]
    keys = pool.keys().tolist()
    assert len(set(zip(keys, names, strict=True))) == len(set(keys)) == len(set(names))


@given(rounds(), st.data())
def test_keys_do_not_depend_on_the_base_or_the_company(drawn, data):
    groups, _ = drawn
    pool = Pool(groups)
    whole = pool.keys()
    for index in data.draw(st.lists(st.integers(0, max(0, pool.size - 1)), max_size=3)) if pool.size else []:
        (text,) = pool.texts(np.asarray([index]))
        assert Pool([Variants.itself(text)]).keys()[0] == whole[index]


@given(rounds())
def test_keys_of_classes_merge_what_has_one_class(drawn):
    groups, naive = drawn
    pool = Pool(groups)
    lower = [string.lower() for string in pool.table.strings]
    classes = np.asarray([lower.index(string) for string in lower], np.int64)
    texts = pool.texts(np.arange(pool.size))
    names = [
        (owner, tuple(word.lower() for word in words), gaps(text))
        for (owner, words), text in zip(naive, texts, strict=True)
    ]
    keys = pool.keys(classes).tolist()
    assert len(set(zip(keys, names, strict=True))) == len(set(keys)) == len(set(names))


def test_two_edits_that_change_places_have_other_keys():
    table = Words()
    base = Text.of("a b", table)
    swapped, back = base.put(0, "b").put(1, "a"), base.put(0, "b").put(1, "a").put(0, "a").put(1, "b")
    keys = Pool([Variants.between(base, [base, swapped, back])]).keys().tolist()
    assert keys[0] == keys[2] != keys[1]


def test_mix_spreads_neighbours():
    places, words = np.divmod(np.arange(250_000), 500)
    assert len(np.unique(mix(places, words))) == 250_000


def test_empty_groups_take_no_place():
    table = Words()
    base = Text.of("a b", table)
    none = Variants.between(base, [])
    some = Variants.at(base, 0, table.ids(["x", "y"]))
    pool = Pool([none, some, none, Variants.itself(base), none])
    assert [str(t) for t in pool.texts(np.arange(3))] == ["x b", "y b", "a b"]
    assert len(pool.keys()) == 3


def test_a_pool_of_nothing_is_our_own_mistake():
    with pytest.raises(AssertionError):
        Pool([])
