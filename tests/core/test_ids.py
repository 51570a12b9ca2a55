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


def test_many_join_the_sorted_array_and_copies_part_ways(monkeypatch):
    monkeypatch.setattr(ids, "_FRESH", 8)
    found = Ids(str(i) for i in range(1000))
    assert len(found._new) < 100 < len(found._old)
    other = found.copy()
    other.add("new")
    assert (len(found), len(other), "new" in found, "new" in other) == (1000, 1001, False, True)
    assert sum(str(i) in found for i in range(2000)) == 1000
