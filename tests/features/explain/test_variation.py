"""What one changed word moves: R_e and its density by hand, attention before and after, means over texts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from small_attentive import saved

from malaprop.core.errors import DataError
from malaprop.core.text import Text, Words
from malaprop.features.explain.attention import (
    average_over_texts,
    compare_texts,
    mean,
    measure_movement,
    measure_pair,
    measure_received,
    same_slots,
    spread,
)
from malaprop.frame.runs.load_victim import load


def test_one_layer_by_hand():
    """Norms of the change: 5 at the changed word, 0 and 5 elsewhere; the states before have norm 10."""
    before = np.asarray([[6.0, 0.0], [0.0, 8.0], [0.0, 0.0]], np.float32)
    after = before + np.asarray([[0, 0], [3, 4], [0, 5]], np.float32)
    found = measure_movement(before, after, np.asarray([1]))
    np.testing.assert_allclose(found.by_word, [0, 5, 5])
    assert found.relative == pytest.approx(math.sqrt(50) / 10)
    assert found.elsewhere == pytest.approx(0.5)
    assert found.reach == pytest.approx(2 / 3)  # two of three words, alike


def test_words_that_are_not_read_count_for_nothing():
    before = np.asarray([[3.0], [np.nan], [4.0]], np.float32)
    found = measure_movement(before, before + np.asarray([[1.0], [0.0], [0.0]], np.float32), np.asarray([0]))
    np.testing.assert_allclose(found.by_word, [1, 0, 0])
    assert (found.relative, found.elsewhere) == (pytest.approx(0.2), 0)
    assert found.reach == pytest.approx(1 / 2)
    still = measure_movement(before, before, np.asarray([0]))
    assert math.isnan(still.elsewhere)
    assert math.isnan(still.reach)
    assert still.relative == 0


def test_spread():
    assert spread(np.asarray([1.0, 1.0, 1.0, 1.0])) == pytest.approx(4)
    assert spread(np.asarray([0.0, 7.0, 0.0])) == pytest.approx(1)


def test_means_have_intervals():
    found = mean([1.0, 2.0, 3.0, math.nan])
    assert (found.value, found.n) == (2.0, 3)
    assert found.high - found.value == pytest.approx(1.959964 / math.sqrt(3))
    assert mean([math.nan]).n == 0
    assert str(mean([])) == "n/a (0)"
    assert mean([4.0]).high == math.inf


def test_attention_received_is_a_share_of_what_words_get():
    maps = np.asarray([[[[0.1, 0.3], [0.1, 0.1]], [[0.0, 0.2], [0.0, 0.0]]]])  # one layer, two heads
    np.testing.assert_allclose(measure_received(maps), [[0.25, 0.75]])


@pytest.mark.parametrize(("name", "layers"), [("Transformer-3", 4), ("BiLSTM-Attention", 2)])
def test_models_over_texts(tmp_path, name, layers):
    victim, table = load(saved(tmp_path / "m", name)), Words()
    texts = [Text.of(string, table, n) for n, string in enumerate(["a good film and a dog", "the man is not asleep"])]
    pairs = [(text, text.put(1, "one")) for text in texts]
    found = average_over_texts(victim, pairs, "mine")
    assert (found.texts, len(found.layers), found.pooled.n) == (2, layers, 2)
    assert found.layers[0].elsewhere.value == pytest.approx(0)
    assert found.layers[1].elsewhere.value > 0.001
    assert [layer.shift is not None for layer in found.layers] == [False] + [True] * (layers - 1)
    assert all(0 <= x.shift.value <= 1 for x in found.layers[1:])
    layers_of = [[x.relative for x in measure_pair(victim, *pair).moved[1:]] for pair in pairs]
    assert found.layered.value == pytest.approx(np.mean([np.mean(row) for row in layers_of]))
    one = measure_pair(victim, *pairs[0])
    assert found.layers[-1].relative.value == pytest.approx(
        np.mean([one.moved[-1].relative, measure_pair(victim, *pairs[1]).moved[-1].relative])
    )


def test_a_sight_holds_what_figures_show(tmp_path):
    victim, table = load(saved(tmp_path / "m", "Transformer-3")), Words()
    text = Text.of("a good film", table)
    found = compare_texts(victim, text, text.put(1, "bad"), ("yes", "no"))
    assert (found.before, found.after, found.changed) == (("a", "good", "film"), ("a", "bad", "film"), (1,))
    assert [layer for layer, _, _ in found.maps] == [1, 3]
    assert all(
        len(rows) == 3 and all(len(row) == 3 for row in rows) for _, one, two in found.maps for rows in (one, two)
    )
    assert len(found.variation) == 4
    assert found.variation[0][0] == found.variation[0][2] == 0 < found.variation[0][1]


@pytest.mark.parametrize(("other", "said"), [("a good film now", "3 and 4 words"), ("a good, film", "the same words")])
def test_texts_that_cannot_be_compared(other, said):
    table = Words()
    with pytest.raises(DataError, match=said):
        same_slots(Text.of("a good film", table), Text.of(other, table))
