"""Distinct numbers: what numpy's `unique` gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.distinct import find_firsts, find_used, sort_distinct


@given(st.lists(st.integers(0, 9)))
def test_the_same_as_unique(rows):
    numbers = np.asarray(rows, np.int64)
    distinct, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    assert sort_distinct(numbers).tolist() == distinct.tolist()
    assert [a.tolist() for a in find_used(numbers, 10)] == [distinct.tolist(), place.tolist()]
    firsts, which = find_firsts(numbers)
    assert firsts.tolist() == sorted(first.tolist())
    assert numbers[firsts][which].tolist() == rows
