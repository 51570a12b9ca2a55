from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from word_edits import VOCABULARY, alone, cut, groups, many_edits

from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.text import BREAK, Text, Words
from malaprop.core.variants import Variants
from malaprop.models.tokens.pieces import Pieces
from malaprop.models.tokens.splice import Frame, splice
from malaprop.zoo.blocks.classifier import Classifier
from malaprop.zoo.blocks.cnn import kim_cnn
from malaprop.zoo.blocks.pairs import pair_average
from malaprop.zoo.scorers.average import AverageEdits


def model() -> Classifier:
    torch.manual_seed(0)
    return pair_average(VOCABULARY, 3, dim=8, hidden=6).eval()


def gap(variants: list[Variants], limit: int) -> float:
    """The largest difference from each text read by itself."""
    pool, average = Pool(variants), model()
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=limit))
    return float((AverageEdits(model=average).logits(work) - alone(average, pool, limit)).abs().max())


@settings(max_examples=150, deadline=None)
@given(groups(), st.sampled_from([99, 12, 6, 1]))
def test_edits_are_the_plain_forward(variants: list[Variants], limit: int) -> None:
    assert gap(variants, limit) < 1e-5


def test_many_variants_of_each_base() -> None:
    assert gap(many_edits(8, 40), 99) < 1e-5


def test_a_separator_in_an_edit_moves_the_border() -> None:
    table = Words()
    base = Text.of({"premise": "aa bb", "hypothesis": "cc dd ee"}, table)
    assert (
        gap([Variants.at(base, 0, table.ids([f"ab{BREAK}ac", "ad", ""])), Variants.at(base, 4, table.ids([""]))], 99)
        < 1e-5
    )


def test_no_text_of_an_ordinary_round_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, average = Pool(many_edits(4, 20)), model()
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=99))
    monkeypatch.setattr(Classifier, "forward", lambda *_: pytest.fail("read whole"))
    AverageEdits(model=average).logits(work)


def test_other_models_are_refused() -> None:
    with pytest.raises(SettingError, match="mean word vectors"):
        AverageEdits(model=kim_cnn(VOCABULARY, 3))
