"""Ids: a set that forgets the strings."""

from hypothesis import given
from hypothesis import strategies as st

from malaprop.core import ids
from malaprop.core.ids import Ids


@given(st.lists(st.text(st.characters(codec=None), max_size=4), max_size=40))
def test_it_is_a_set(names):
    found, seen = Ids(), set()
    for name in names:
        assert found.add(name) == (name not in seen)
        seen.add(name)
    assert len(found) == len(seen)
    assert all(name in found for name in seen)
    assert "something else" not in found


def test_a_table_grows_in_time_and_copies_part_ways():
    found = Ids(str(i) for i in range(5000))
    assert 3 * len(found) <= 2 * len(found._table)
    assert len(found._table) <= 4 * len(found)
    other = found.copy()
    other.add("new")
    assert (len(found), len(other), "new" in found, "new" in other) == (5000, 5001, False, True)
    assert sum(str(i) in found for i in range(9000)) == 5000


def test_ids_of_one_place_are_told_apart(monkeypatch):
    monkeypatch.setattr(ids, "_hash", lambda name: 1 + 1024 * int(name))  # all have the same low bits
    found = Ids(str(i) for i in range(300))
    assert [str(i) in found for i in (0, 299, 300)] == [True, True, False]
