"""What figures with intervals say of an order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.frame.records.intervals import Estimate, above, average, falling, gap_text, points, short, sign, worst
from malaprop.frame.records.summary import Rate


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ((0.2, 0.1, 0.3), "holds"),
        ((0.2, -0.1, 0.5), "leans"),
        ((-0.2, -0.5, 0.1), "inconclusive"),
        ((0.0, -0.1, 0.1), "inconclusive"),
        ((-0.2, -0.3, -0.1), "fails"),
        ((float("nan"), 0.0, 1.0), "inconclusive"),
    ],
)
def test_a_sign_is_read_from_its_interval(figures, expected):
    assert sign(*figures) == expected


def test_a_mean_has_the_interval_of_its_numbers():
    found = average([1.0, 2.0, 3.0])
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 0.868, 3.132), abs=1e-3)
    assert above(average([5.0]), found) == "leans", "of one number nothing is sure"
    assert above(average([]), found) == "inconclusive"


def test_a_difference_is_told_in_points():
    assert gap_text(Rate(56, 70), Rate(48, 80)) == "+20.0 points (+5.2 to +33.4)"  # Newcombe 1998


def test_two_rates_are_compared_by_the_interval_of_their_difference():
    # Newcombe 1998, his example of 56/70 against 48/80: 0.2000, with 0.0524 to 0.3339
    assert above(Rate(56, 70), Rate(48, 80)) == "holds"
    assert above(Rate(48, 80), Rate(56, 70)) == "fails"
    assert above(Rate(9, 10), Rate(3, 10)) == "holds"  # 0.1705 to 0.8090
    assert above(Rate(6, 10), Rate(5, 10)) == "leans"
    assert above(Rate(5, 10), Rate(6, 10)) == "inconclusive"
    assert above(Rate(0, 0), Rate(5, 10)) == "inconclusive"


def test_estimates_and_rates_go_together():
    assert above(Rate(99, 100), Estimate(0.5, 0.5, 0.5)) == "holds"
    assert above(Estimate(0.2, 0.1, 0.3), Estimate(0.5, 0.45, 0.55)) == "fails"


@given(st.integers(0, 30), st.integers(1, 30), st.integers(0, 30), st.integers(1, 30))
def test_turned_round_a_comparison_says_the_opposite(a, more_a, b, more_b):
    one, two = Rate(a, a + more_a), Rate(b, b + more_b)
    opposite = {
        "holds": {"fails"},
        "fails": {"holds"},
        "leans": {"inconclusive"},
        "inconclusive": {"leans", "inconclusive"},
    }
    assert above(two, one) in opposite[above(one, two)]


def test_of_several_parts_the_worst_counts():
    assert worst(["holds", "leans", "holds"]) == "leans"
    assert worst(["holds", "fails", "inconclusive"]) == "fails"
    assert worst([]) == "inconclusive"
    assert falling([Rate(90, 100), Rate(50, 100), Rate(10, 100)]) == "holds"
    assert falling([Rate(90, 100), Rate(10, 100), Rate(50, 100)]) == "fails"
    assert (points(True), points(False)) == ("leans", "inconclusive")


def test_figures_are_written_with_counts_or_intervals():
    assert short(Rate(1, 2)) == str(Rate(1, 2))
    assert short(Estimate(0.25, 0.2, 0.3)) == "0.250 (0.200 to 0.300)"
    assert short(Estimate(0.25, 0.2, 0.3), percent=True) == "25.0% (20.0 to 30.0)"
    assert short(None) == "n/a"
