"""Krippendorff's alpha against the example he published, and what holds of any answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import SettingError
from malaprop.features.humans.agreement import LEVELS, alpha, alpha_interval

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers, twelve units.
OBSERVERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
UNITS = [[float(v) for v in unit if v != "."] for unit in zip(*(row.split() for row in OBSERVERS), strict=True)]


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example(level, published):
    assert alpha(UNITS, level) == pytest.approx(published, abs=5e-4)


def test_by_hand():
    # Coincidences: 00 twice, 11 twice, 01 and 10 once each; 3 of each value. Observed 2/6, expected 18/30.
    assert alpha([[0, 0], [1, 1], [0, 1]], "nominal") == pytest.approx(1 - (2 / 6) / (18 / 30))


def test_full_agreement_and_none():
    assert alpha([[0, 0], [1, 1], [2, 2, 2]], "ordinal") == 1
    assert alpha([[0, 1], [1, 0]], "nominal") < 0


@pytest.mark.parametrize("units", [[], [[1.0]], [[1.0, 1.0], [1.0, 1.0]]])
def test_undefined_where_nothing_varies(units):
    assert alpha(units, "nominal") is None
    assert alpha_interval(units, "nominal") is None


def test_an_unknown_level_is_refused():
    with pytest.raises(SettingError, match="nominal, ordinal, interval"):
        alpha([[1, 2]], "ratio")


answers = st.lists(st.lists(st.integers(1, 5).map(float), min_size=1, max_size=4), min_size=1, max_size=8)


@given(answers, st.sampled_from(LEVELS), st.randoms(use_true_random=False))
def test_order_of_raters_and_items_does_not_matter(units, level, random):
    first = alpha(units, level)
    mixed = [random.sample(unit, len(unit)) for unit in random.sample(units, len(units))]
    second = alpha(mixed, level)
    assert (first is None) == (second is None)
    assert first is None or (first == pytest.approx(second) and first <= 1)


@given(answers)
def test_interval_level_follows_the_scale_and_nominal_the_names(units):
    stretched = [[10 * value + 3 for value in unit] for unit in units]
    for level in LEVELS:
        first, second = alpha(units, level), alpha(stretched, level)
        assert first == second or first == pytest.approx(second)


def test_the_interval_holds_alpha_and_comes_again():
    low, high = alpha_interval(UNITS, "ordinal", seed=3)
    assert low < alpha(UNITS, "ordinal") <= high <= 1
    assert (low, high) == alpha_interval(UNITS, "ordinal", seed=3)
