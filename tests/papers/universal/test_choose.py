"""Choosing ensembles: by generations, one by one, and through all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import SettingError
from malaprop.papers.universal.choose_ensemble import GeneticChoice, exact, expert, fitness, greedy, missing
from malaprop.zoo.names import ZooSpec

RATES = np.asarray(
    [
        [0.6, 0.5, 0.1, 0.1],
        [0.5, 0.6, 0.1, 0.2],
        [0.1, 0.1, 0.7, 0.3],
        [0.2, 0.2, 0.2, np.nan],  # without a second
    ]
)


def best(rates: np.ndarray, size: int) -> float:
    return max(float(np.nan_to_num(rates)[list(some)].max(0).mean()) for some in combinations(range(len(rates)), size))


def test_fitness_is_the_mean_of_the_best_members_rate():
    assert fitness(RATES, np.asarray([[0, 2]]))[0] == pytest.approx((0.6 + 0.5 + 0.7 + 0.3) / 4)
    assert fitness(RATES, np.asarray([[3]]))[0] == pytest.approx(0.6 / 4)


def test_small_cases_by_hand():
    assert exact(RATES, 1) == (1,)
    assert greedy(RATES, 2) == (1, 2)
    assert exact(RATES, 2) == (0, 2) or fitness(RATES, np.asarray([exact(RATES, 2)]))[0] == pytest.approx(
        best(RATES, 2)
    )
    assert exact(RATES, 2, most=1) is None


@given(st.integers(0, 1000), st.integers(3, 7), st.integers(1, 3))
def test_exact_is_the_bound_and_greedy_is_near_it(seed, many, size):
    rates = np.random.default_rng(seed).random((many, many))
    top = fitness(rates, np.asarray([exact(rates, size)]))[0]
    assert top == pytest.approx(best(rates, size))
    one_by_one = fitness(rates, np.asarray([greedy(rates, size)]))[0]
    assert (1 - 1 / np.e) * top <= one_by_one <= top + 1e-12  # the mean of maxima is submodular


def test_models_that_add_most_are_tried_first_so_that_few_steps_prove_the_best():
    random = np.random.default_rng(0)
    rates = 0.2 + 0.4 * random.random((40, 1)) + 0.2 * random.random((40, 40))  # some models carry further than others
    assert exact(rates, 4, most=500) is not None  # in the order of the models it took 3,829


@given(st.integers(0, 50))
def test_generations_find_a_good_ensemble_of_distinct_models(seed):
    rates = np.random.default_rng(seed).random((12, 12))
    found = GeneticChoice(population=20, generations=20).choose(rates, 3, seed=seed)
    assert len(set(found)) == 3
    assert found == tuple(sorted(found))
    assert fitness(rates, np.asarray([found]))[0] >= 0.95 * best(rates, 3)
    assert found == GeneticChoice(population=20, generations=20).choose(rates, 3, seed=seed)


def test_more_generations_are_no_worse():
    rates = np.random.default_rng(3).random((30, 30)) ** 3
    values = [
        fitness(rates, np.asarray([GeneticChoice(population=20, generations=g).choose(rates, 4, seed=1)]))[0]
        for g in (0, 40)
    ]
    assert values[0] < values[1]


def test_all_models_at_once():
    assert GeneticChoice().choose(RATES, 4) == greedy(RATES, 4) == exact(RATES, 4) == (0, 1, 2, 3)


def test_bad_settings():
    with pytest.raises(SettingError, match="an ensemble of 5 cannot be chosen from 4 models"):
        greedy(RATES, 5)
    with pytest.raises(SettingError, match="population of 2 or more"):
        GeneticChoice(population=1)


def test_the_experts_lists_grow_by_one_and_name_zoo_models():
    assert [len(expert(size)) for size in range(2, 8)] == [2, 3, 4, 5, 6, 7]
    assert expert(2) == ("LSTM-W-Random-1", "CNN-C-Random-1")
    assert all(ZooSpec.of(name).name == name for name in expert(7))
    assert expert(8) is None
    assert missing(3, ["CNN-C-Random-1", "LSTM-W-Random-1"]) == ("LSTM-WC-ELMo-1",)
