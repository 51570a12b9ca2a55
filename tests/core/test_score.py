"""Choosing among scores: rounding decides nothing, ties go to the first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.score import Prediction, best, firsts, ranked, ranked_within, top, winner, winners

floats = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=12)


def array(*values: float) -> np.ndarray:
    return np.asarray(values, np.float32)


@pytest.mark.parametrize(
    ("values", "first", "order"),
    [
        ((0.1, 0.9, 0.5), 1, [1, 2, 0]),
        ((0.5, 0.5, 0.5), 0, [0, 1, 2]),
        ((0.5, 0.5 + 3e-7, 0.5 - 3e-7), 0, [0, 1, 2]),
        ((0.5, 0.5 + 1e-5), 1, [1, 0]),
        ((0.2, 0.7, 0.7 - 2e-7, 0.2 + 2e-7), 1, [1, 2, 0, 3]),
        ((3.0,), 0, [0]),
    ],
)
def test_best_and_ranked(values, first, order):
    assert best(array(*values)) == first
    assert ranked(array(*values)).tolist() == order


def test_what_reached_the_goal_comes_first():
    values, reached = array(0.9, 0.1, 0.5, 0.1), np.asarray([False, True, False, True])
    assert ranked(values, reached).tolist() == [1, 3, 0, 2]
    assert ranked(array(), np.empty(0, np.bool_)).tolist() == []
    assert ranked(array()).tolist() == []


@given(floats, st.randoms(use_true_random=False))
def test_rounding_of_a_batch_moves_nothing(values, random):
    """Values that differ by less than a rounding, or by far more than the slack, keep their order when they move."""
    base = np.asarray(sorted({round(v, 4) for v in values}, key=lambda v: values.index(v) if v in values else v))
    noise = array(*(random.uniform(-2e-7, 2e-7) for _ in base))
    moved = (base + noise).astype(np.float32)
    assert ranked(moved).tolist() == ranked(base.astype(np.float32)).tolist()
    assert best(moved) == best(base.astype(np.float32)) == ranked(moved)[0]


@given(floats)
def test_ranked_is_an_order_from_best_to_worst(values):
    given = array(*values)
    order = ranked(given)
    assert sorted(order.tolist()) == list(range(len(values)))
    assert (np.diff(given[order]) <= 1e-6 * len(values)).all()


def test_the_winning_label_of_a_tie_is_the_first():
    answers = array(0.5, 0.5, 0.5 - 3e-7, 0.5 + 3e-7, 0.4, 0.6).reshape(3, 2)
    assert winners(answers).tolist() == [0, 0, 1]
    assert [winner(row) for row in answers] == [0, 0, 1]


def test_prediction_of_a_row():
    assert Prediction.of([0.25, 0.75]) == Prediction(1, (0.25, 0.75))
    assert Prediction.of(array(0.5, 0.5)).label == 0


scores = st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.1 + 6e-7, 0.1 + 1.2e-6, 0.5, 0.9]), st.booleans())


@given(st.lists(scores, max_size=16))
def test_many_groups_are_ranked_as_each_alone(rows):
    rows.sort(key=lambda row: row[0])
    groups = np.asarray([row[0] for row in rows], np.int64)
    values, reached = array(*(row[1] for row in rows)), np.asarray([row[2] for row in rows], np.bool_)
    alone = [np.flatnonzero(groups == g)[ranked(values[groups == g], reached[groups == g])] for g in range(4)]
    assert ranked_within(groups, values, reached).tolist() == np.concatenate(alone).tolist()


near = st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=12)


@given(near)
def test_the_top_is_the_first_of_the_ranking(pairs):
    values = np.asarray([0.5 + step * 4e-7 for step, _ in pairs], np.float32)  # some are chained by the slack
    reached = np.asarray([flag for _, flag in pairs])
    assert top(values, reached) == ranked(values, reached)[0]


@given(st.lists(near, min_size=1, max_size=6))
def test_the_firsts_are_the_best_of_each_stretch(groups):
    parts = [np.asarray([0.5 + step * 4e-7 for step, _ in pairs], np.float32) for pairs in groups]
    starts = np.cumsum([0, *map(len, parts[:-1])])
    assert firsts(np.concatenate(parts), starts).tolist() == [
        start + best(part) for start, part in zip(starts.tolist(), parts, strict=True)
    ]
