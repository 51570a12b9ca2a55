"""BLEU against a case done by hand and against sacrebleu."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from malaprop.models import bleu

TOKENS = ("Ein", "Mann", "1,5", "3.4-mal", "(rot)", "weiß.", "&quot;Hi&quot;", "a-b", "9-5", "'s", ",", "U.S.", "50%")
LINES = st.lists(st.sampled_from(TOKENS), max_size=9).map(" ".join)


def test_a_corpus_by_hand():
    # 4 of 5 words, 2 of 4 pairs, 1 of 3 triples, no four of 2 (half a hit); six words stand in the reference
    found = bleu.corpus(["a b c x d"], ["a b c d e f"])
    wanted = math.exp(1 - 6 / 5) * (4 / 5 * 2 / 4 * 1 / 3 * (0.5 / 2)) ** 0.25
    assert found == pytest.approx(100 * wanted)


@given(st.lists(st.tuples(LINES, LINES.filter(bool)), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_as_sacrebleu_has_it(rows):
    sacrebleu = pytest.importorskip("sacrebleu")
    outputs, references = ([row[i] for row in rows] for i in (0, 1))
    assert bleu.corpus(outputs, references) == pytest.approx(sacrebleu.corpus_bleu(outputs, [references]).score)
    one = sacrebleu.sentence_bleu(outputs[0], references[:1]).score
    assert bleu.sentence(outputs[0], references[0]) == pytest.approx(one)


def test_nothing_said_scores_nothing():
    assert bleu.corpus([""], ["a b c d"]) == 0.0
    assert bleu.sentence("", "a") == 0.0


def test_the_interval_holds_the_figure_and_equal_sentences_have_none():
    counts = bleu.counts(["a b c d e", "x y", "a b c d"], ["a b c d e", "a b c d", "a b c e"])
    low, high = bleu.interval(counts)
    assert low <= bleu.from_counts(counts.sum(0)) <= high
    assert bleu.interval(np.repeat(counts[:1], 5, 0)) == pytest.approx((100.0, 100.0))
