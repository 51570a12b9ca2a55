"""Factors and classes from a matrix small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from malaprop.papers.universal.matrix import Matrix, ModelResamples
from malaprop.papers.universal.record import Traits
from malaprop.papers.universal.study_models import traits
from malaprop.papers.universal.summary import FACTORS, factors, order, order_share, pairs, tables
from malaprop.zoo.names import ZooSpec, grid

NAMES = ("LSTM-W-Random-1", "LSTM-W-GloVe-1", "LSTM-C-Random-1", "LSTM-W-Random-2", "CNN-W-Random-1", "BERT")
HITS = [  # sources down, of 100 texts; the diagonal is the base rate
    [70, 50, 20, 60, 40, 10],
    [50, 60, 20, 30, 30, 10],
    [30, 20, 50, 20, 20, 20],
    [66, 40, 20, 60, 30, 10],
    [40, 30, 20, 30, 60, 15],
    [35, 30, 30, 30, 35, 40],
]


def known(*names: str) -> list[Traits | None]:
    return [traits(ZooSpec.of(name)) for name in names]


def matrix(hits: list[list[int]] | None = None, total: int = 100) -> Matrix:
    counts = np.asarray(hits or HITS)
    return Matrix(counts, np.full_like(counts, total))


def test_each_factor_is_the_mean_absolute_difference_to_the_targets_base_rate():
    found = {f.name: f for f in factors(matrix(), known(*NAMES), ModelResamples(6))}
    # a pair counts both ways, each against the base rate of its own target
    assert found["architecture"].mean.value == pytest.approx((abs(0.4 - 0.6) + abs(0.4 - 0.7)) / 2)
    assert found["input form"].mean.value == pytest.approx((abs(0.2 - 0.5) + abs(0.3 - 0.7)) / 2)
    assert found["embedding"].mean.value == pytest.approx((abs(0.5 - 0.6) + abs(0.5 - 0.7)) / 2)
    assert found["capacity"].mean.value == pytest.approx((abs(0.6 - 0.6) + abs(0.66 - 0.7)) / 2)
    assert {f.pairs for f in found.values()} == {2}
    assert order(tuple(found.values())) == ("input form", "architecture", "embedding", "capacity")
    assert all(f.mean.low < f.mean.value < f.mean.high for f in found.values())  # though each rests on two models


def test_noise_is_what_equal_rates_would_show():
    rng = np.random.default_rng(0)
    every = known(*(spec.name for spec in grid()))
    hits = rng.binomial(500, 0.4, (63, 63))
    found = {f.name: f for f in factors(Matrix(hits, np.full_like(hits, 500)), every, ModelResamples(63))}
    for factor in found.values():
        assert factor.mean.value == pytest.approx(factor.noise, rel=0.25)
        assert factor.noise == pytest.approx(np.sqrt(2 / np.pi * 2 * 0.24 / 500), rel=0.02)


def test_the_order_is_seen_in_the_resamples():
    every = known(*(spec.name for spec in grid()))
    value = {"input form": 50, "architecture": 130, "embedding": 200, "capacity": 260}
    hits = np.full((63, 63), 250)
    np.fill_diagonal(hits, 300)
    for name, many in value.items():
        hits[pairs(every, FACTORS[name][0])] = many
    made = Matrix(hits, np.full_like(hits, 500))
    assert order(factors(made, every, ModelResamples(63))) == ("input form", "architecture", "embedding", "capacity")
    assert order_share(made, every, ModelResamples(63)) > 0.99
    turned = Matrix(600 - hits, np.full_like(hits, 500))
    assert order_share(turned, every, ModelResamples(63)) > 0.99  # the absolute value counts
    flat = Matrix(np.full_like(hits, 250), np.full_like(hits, 500))
    assert order_share(flat, every, ModelResamples(63)) < 0.2  # one order of 24
    assert order_share(matrix(), [*known(*NAMES[:2]), *([None] * 4)], ModelResamples(6)) is None


@pytest.mark.parametrize(
    ("name", "many"),
    [
        ("architecture", 3 * 6 * 3 * 2),  # three pairs of encoders at 3 depths, 6 inputs, both ways
        ("embedding", 10 * 4 * 3),
        ("capacity", 6 * (3 * 2 + 3 * 2 + 4 * 3)),
        ("input form", 10 * 3 * 2),
        ("input form, embedding fixed", 10 * 2),
    ],
)
def test_how_many_pairs_the_63_give(name, many):
    sources, targets = pairs(known(*(spec.name for spec in grid())), FACTORS[name][0])
    assert len(sources) == many
    assert max(sources.max(), targets.max()) < 60  # the three that are fine-tuned vary in everything


def test_class_tables_take_base_rates_on_the_diagonal():
    by_architecture, by_reading = tables(matrix(), known(*NAMES), ModelResamples(6))
    assert by_architecture.classes == ("LSTM", "CNN", "BERT")
    assert by_architecture.models == (4, 1, 1)
    inner = np.asarray(HITS)[:4, :4].mean() / 100
    assert by_architecture.cells[0][0].value == pytest.approx(inner)
    assert by_architecture.cells[2][1].value == pytest.approx(0.35)
    assert by_architecture.cells[1][2].value == pytest.approx(0.15)
    assert by_reading.classes == ("Random", "GloVe", "Character", "BERT")
    row = [cell.value for cell in by_reading.cells[1]]
    assert by_reading.sources[1] == pytest.approx(np.mean(row), abs=1e-6)


def test_what_was_not_tried_is_left_out():
    hits, totals = np.asarray(HITS), np.full((6, 6), 100)
    totals[2] = 0  # a source without a success
    totals[4, 4] = 0  # a model without a second
    found = {f.name: f for f in factors(Matrix(hits, totals), known(*NAMES), ModelResamples(6))}
    assert "input form" not in found  # neither a text of the one that reads characters, nor its base rate
    assert found["architecture"].mean.value == pytest.approx(abs(0.4 - 0.7))
    table = tables(Matrix(hits, totals), known(*NAMES), ModelResamples(6))[0]
    assert table.cells[1][1] is None
    made = Matrix(hits, totals)
    assert made.base_mean(ModelResamples(6)).value == pytest.approx((0.7 + 0.6 + 0.6 + 0.4) / 4)


def test_models_outside_the_zoo_have_no_traits_and_no_table():
    assert tables(matrix(), [None] * 6, ModelResamples(6)) == ()
    assert factors(matrix(), [None] * 6, ModelResamples(6)) == ()


def test_the_same_seed_draws_the_same_models():
    assert (ModelResamples(5, seed=1).weights == ModelResamples(5, seed=1).weights).all()
    assert (ModelResamples(5, seed=1).weights != ModelResamples(5, seed=2).weights).any()
    assert (ModelResamples(5).weights.sum(1) == 5).all()
