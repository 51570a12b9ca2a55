"""The sign test and intervals, against figures worked out by hand or published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.features.humans.agreement import difference, product, sign_test
from malaprop.frame.records import Rate


@pytest.mark.parametrize(
    ("plus", "minus", "p"),
    [
        (5, 0, 2 / 32),  # both tails of five tosses
        (4, 1, 2 * (1 + 5) / 32),
        (0, 3, 2 / 8),
        (2, 2, 1.0),
        (20, 0, 2 / 2**20),
    ],
)
def test_sign_test(plus, minus, p):
    assert sign_test(plus, minus) == pytest.approx(p)


def test_sign_test_of_nothing():
    assert sign_test(0, 0) is None


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_test_has_no_favourite(plus, minus):
    assert sign_test(plus, minus) == sign_test(minus, plus)


def test_difference_as_newcombe_published():
    # Newcombe 1998, table II: 56/70 against 48/80, method 10 gives 0.0524 to 0.3339.
    gap, low, high = difference(Rate(56, 70), Rate(48, 80))
    assert (gap, low, high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)


def test_of_nothing():
    assert difference(Rate(0, 0), Rate(1, 2)) is None
    assert product(Rate(1, 2), Rate(0, 0)) is None


@given(st.integers(0, 30), st.integers(0, 30))
def test_product_holds_its_value_and_stays_a_share(a, b):
    value, low, high = product(Rate(a, 30), Rate(b, 30))
    assert value == pytest.approx(a * b / 900)
    assert 0 <= low <= value <= high <= 1


def test_an_interval_over_texts_is_wider_than_one_over_answers():
    over_answers, over_texts = Rate(60, 90).interval, Rate(60, 90, units=30).interval
    assert over_texts == Rate(20, 30).interval
    assert over_texts[0] < over_answers[0] < over_answers[1] < over_texts[1]
