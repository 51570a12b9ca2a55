"""Rules from counts alone, against counts made by hand."""

from __future__ import annotations

import math

import pytest
import toy

from malaprop.core.errors import DataError
from malaprop.core.example import number_rows
from malaprop.papers.universal.rules.diagnose import Association, pmi_rules
from malaprop.papers.universal.rules.swaps import ListedSwaps

ROWS = [
    ({"text": "good good film"}, 1),
    ({"text": "good fine film"}, 1),
    ({"text": "bad bad film"}, 0),
    ({"text": "bad good film"}, 0),
]
EXAMPLES = tuple(number_rows(ROWS))


def test_bits_by_hand():
    """good: 3 of 4 under pos; labels have six words each; two labels and three words a text lift by log2 6."""
    bits = Association.of(EXAMPLES, 2)
    lift = math.log2(2 * 3)
    assert bits.lift == pytest.approx(lift)
    assert bits.seen("GOOD").tolist() == [1, 3]
    assert bits.pmi("good").tolist() == pytest.approx([math.log2(0.25 / 0.5) + lift, math.log2(0.75 / 0.5) + lift])
    assert bits.pmi("fine").tolist() == pytest.approx([0.0, 1 + lift])  # never with neg: 0, as in Table 6
    assert bits.pmi("splendiferous").tolist() == [0.0, 0.0]
    assert bits.pmi("film").tolist() == pytest.approx([lift, lift])


def test_a_word_of_one_label_and_one_of_both_are_a_bit_apart_as_in_table_6():
    bits = Association.of(EXAMPLES, 2, lift=5.478)
    assert bits.pmi("fine")[1] == pytest.approx(6.478)
    assert bits.pmi("film")[1] == pytest.approx(5.478)


def test_equation_2():
    bits = Association.of(EXAMPLES, 2)
    good, fine, bad = bits.pmi("good"), bits.pmi("fine"), bits.pmi("bad")
    assert bits.salience(1, "good", "bad") == pytest.approx((good[1] - bad[1]) + (bad[0] - good[0]))
    assert bits.salience(0, "good", "fine") == pytest.approx((good[0] - fine[0]) + (fine[1] - good[1]))


def test_rules_have_counts_of_their_label_and_come_strongest_first():
    swaps = ListedSwaps(table={"good": ("fine", "bad"), "film": ("movie",), "bad": ("good",)})
    rules = pmi_rules(EXAMPLES, ("neg", "pos"), swaps=swaps, every=True)
    bits = Association.of(EXAMPLES, 2)
    got = {(r.label, r.word, r.to): (r.salience, r.count) for r in rules}
    assert got["pos", "good", "bad"] == (pytest.approx(bits.salience(1, "good", "bad")), 3)
    assert got["neg", "good", "fine"] == (pytest.approx(bits.salience(0, "good", "fine")), 1)
    assert got["pos", "film", "movie"] == (pytest.approx(0), 2)
    assert ("pos", "bad", "good") not in got  # no text of that label has the word
    for label in ("neg", "pos"):
        saliences = [r.salience for r in rules if r.label == label]
        assert saliences == sorted(saliences, reverse=True)
    assert all(r.salience > 0 for r in pmi_rules(EXAMPLES, ("neg", "pos"), swaps=swaps))


def test_nothing_to_count():
    with pytest.raises(DataError, match="holds no word"):
        Association.of(toy.examples(["?!"], label=0), 2)
    with pytest.raises(DataError, match="has a replacement"):
        pmi_rules(EXAMPLES, ("neg", "pos"), swaps=ListedSwaps(table={}))
