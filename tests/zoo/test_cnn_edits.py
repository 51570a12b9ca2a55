from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from word_edits import VOCABULARY, alone, cut, groups, many_edits

from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.models.scorers.plain import Plain
from malaprop.models.tokens.pieces import Pieces
from malaprop.models.tokens.splice import Frame, splice
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.scorers.cnn import CnnEdits


def model(widths: tuple[int, ...] = (3, 4, 5), **more: int) -> WordCNN:
    torch.manual_seed(0)
    return WordCNN(VOCABULARY, 3, dim=8, filters=6, widths=widths, **more).eval()


def gap(cnn: WordCNN, variants: list[Variants], limit: int, **how: int) -> float:
    """The largest difference from each text read by itself."""
    pool = Pool(variants)
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=limit))
    expected = alone(cnn, pool, limit)
    plain = Plain(forward=cnn).logits(work)
    assert (plain - expected).abs().max() < 1e-5
    return float((CnnEdits(model=cnn, **how).logits(work) - expected).abs().max())


@settings(max_examples=120, deadline=None)
@given(groups(), st.sampled_from([99, 12, 6, 3]), st.sampled_from([(3, 4, 5), (1, 2), (4,)]), st.integers(1, 40))
def test_edits_are_the_plain_forward(variants: list[Variants], limit: int, widths: tuple[int, ...], small: int) -> None:
    assert gap(model(widths), variants, limit, rows=small, tokens=small) < 1e-5


@pytest.mark.parametrize("limit", [99, 15])
def test_many_variants_of_each_base(limit: int) -> None:
    assert gap(model(), many_edits(8, 40), limit) < 1e-5


def test_bases_are_read_once_where_many_variants_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(many_edits(3, 30))
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=99))
    scorer, seen = CnnEdits(model=model()), []
    whole = CnnEdits._largest
    monkeypatch.setattr(
        CnnEdits, "_largest", lambda s, ids, sizes: (seen.append(ids.shape[1]), whole(s, ids, sizes))[1]
    )
    scorer.logits(work)
    assert seen
    assert max(seen) <= 2 + 2 * 4, "no text is read from end to end"


def test_what_padding_was_trained_to_does_not_matter() -> None:
    cnn = model()
    with torch.no_grad():
        cnn.embedding.weight[0] = 5.0
    table = Words()
    base = Text.of("aa bb", table)
    assert gap(cnn, [Variants.at(base, 0, table.ids(["cc", "", "aa aa aa"]))], 99) < 1e-5


def test_deep_models_are_refused() -> None:
    with pytest.raises(SettingError, match="one layer"):
        CnnEdits(model=model(depth=2))


@pytest.mark.parametrize("limit", [99, 8])
def test_one_place_of_each_base_needs_no_running_maxima(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """As a greedy step asks: every place of a text in turn, the first and the last included."""
    monkeypatch.setattr(CnnEdits, "_read", lambda *_: pytest.fail("it was read from both ends"))
    for slot in range(9):
        table, variants = Words(), []
        for owner, words in enumerate(("aa ab ac ad ae ba bb bc bd", "ba aa ba ab ba ac ba ad ba be bd")):
            base = Text.of(words, table, owner)
            variants.append(Variants.at(base, slot, table.ids(["cc", "cd", "ce", "zz"])))
        assert gap(model(), variants, limit) < 1e-5
