"""Theorem 1 by hand and by simulation: the bound holds, the printed step does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from malaprop.core.errors import SettingError
from malaprop.models.inside import FirstLayer
from malaprop.papers.attentive.theorem import (
    TheoremCase,
    add_cases,
    bound_trained,
    cases_of,
    mean_cosine,
    mean_part,
    simulate,
)


def test_the_mean_of_a_coordinate_in_two_and_three_dimensions():
    """On the circle E|cos t| is 2 / pi; on the sphere a coordinate is uniform from -1 to 1."""
    assert mean_part(2) == pytest.approx(2 / math.pi)
    assert mean_part(3) == pytest.approx(1 / 2)
    assert mean_part(10_000) * 100 == pytest.approx(math.sqrt(2 / math.pi), rel=1e-4)


@settings(max_examples=15, deadline=None)
@given(dim=st.integers(2, 96), delta=st.floats(0.01, 10), seed=st.integers(0, 99))
def test_the_mean_lies_below_the_bound_and_near_its_exact_value(dim, delta, seed):
    found = simulate(dim, 400, delta, draws=12, seed=seed)
    assert found.over == 0
    assert found.mean == pytest.approx(found.exact, rel=0.15)
    assert abs(found.signed) < 0.2 * found.mean  # the printed proof has 1 / sqrt(d) here
    assert all(tail.share <= tail.markov for tail in found.tails)


def test_the_bound_is_tight_up_to_a_fifth():
    found = simulate(256, 400, 0.5, draws=20, identity=True)
    assert found.bound == pytest.approx(0.5 / 16)
    assert found.mean / found.bound == pytest.approx(math.sqrt(2 / math.pi), abs=0.02)


def test_the_same_seed_gives_the_same_numbers():
    assert simulate(8, 5, 1.0, draws=3, seed=4) == simulate(8, 5, 1.0, draws=3, seed=4)
    assert simulate(8, 5, 1.0, draws=3, seed=4) != simulate(8, 5, 1.0, draws=3, seed=5)


@pytest.mark.parametrize("wrong", [{"dim": 0}, {"words": 0}, {"delta": 0.0}, {"draws": 0}])
def test_senseless_settings_are_refused(wrong):
    given_ = {"dim": 4, "words": 3, "delta": 1.0, "draws": 2} | wrong
    with pytest.raises(SettingError, match="a simulation needs"):
        simulate(given_.pop("dim"), given_.pop("words"), given_.pop("delta"), **given_)


def test_a_trained_layer_by_hand():
    """One head that gives the first coordinate: s_ij = x_i[0] x_j[0]; the word at place 1 moves by (3, 4)."""
    one = np.asarray([[[1.0], [0.0]]])
    layer = FirstLayer(query=one, key=one, offset=np.zeros((1, 1)), scale=1.0)
    before = np.asarray([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    after = before + np.asarray([[0, 0], [3, 4], [0, 0]])
    (case,) = cases_of(layer, before, after, 1)
    np.testing.assert_allclose(case.moved, [3.0, 0.0])
    assert case.delta == 5
    assert case.bound == pytest.approx(1 * 5 * 1.5 / math.sqrt(2))
    assert case.exact == pytest.approx(3 * 1.5 * mean_part(2))


def test_heads_above_their_bound_are_counted():
    below = TheoremCase(moved=np.asarray([0.5, -1.5]), bound=2.0, exact=1.0, delta=1.0)
    above = TheoremCase(moved=np.asarray([9.0, -3.0]), bound=4.0, exact=1.0, delta=3.0)
    found = add_cases("here", 4, [below, above], [0.5])
    assert (found.over, found.cases, found.words, found.delta, found.bound) == (1, 2, 2, 2.0, 3.0)
    assert found.mean == pytest.approx((1 + 6) / 2)
    assert found.signed == pytest.approx((-0.5 + 3) / 2)
    assert found.largest == pytest.approx((1.5 + 9) / 2)
    assert [(t.epsilon, t.share) for t in found.tails] == [(0.5, 3 / 4), (1.0, 1 / 4), (2.0, 1 / 4)]


def test_cosines():
    assert mean_cosine(np.asarray([[1.0, 0.0], [0.0, 3.0]])) == pytest.approx(0)
    assert mean_cosine(np.asarray([[2.0, 0.0], [5.0, 0.0], [1.0, 0.0]])) == pytest.approx(1)
    assert math.isnan(mean_cosine(np.asarray([[1.0, 2.0]])))


def test_what_has_no_first_layer_of_attention_gives_nothing():
    assert bound_trained("none", None, []) is None
