from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from word_edits import VOCABULARY, alone, cut, groups, many_edits

from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.variants import Variants
from malaprop.models.scorers.plain import Plain
from malaprop.models.tokens.pieces import Pieces
from malaprop.models.tokens.splice import Frame, splice
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.scorers.lstm import LstmEdits, _Way


def model(*, both: bool, depth: int = 1) -> WordLSTM:
    torch.manual_seed(0)
    return WordLSTM(VOCABULARY, 3, dim=8, hidden=6, both=both, depth=depth).eval()


def gap(lstm: WordLSTM, variants: list[Variants], limit: int, **how: int) -> float:
    """The largest difference from each text read by itself."""
    pool = Pool(variants)
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=limit))
    expected = alone(lstm, pool, limit)
    plain = Plain(forward=lstm).logits(work)
    assert (plain - expected).abs().max() < 1e-5
    return float((LstmEdits(model=lstm, **how).logits(work) - expected).abs().max())


@settings(max_examples=120, deadline=None)
@given(groups(), st.sampled_from([99, 12, 6, 1]), st.booleans(), st.integers(1, 40))
def test_edits_are_the_plain_forward(variants: list[Variants], limit: int, both: bool, small: int) -> None:
    assert gap(model(both=both), variants, limit, rows=small, tokens=small) < 1e-5


@pytest.mark.parametrize("limit", [99, 15])
def test_many_variants_of_each_base(limit: int) -> None:
    assert gap(model(both=True), many_edits(8, 40), limit) < 1e-5


def test_about_half_the_steps_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(many_edits(4, 60))
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=99))
    read, step = [], _Way.step
    monkeypatch.setattr(_Way, "step", lambda way, ids, h, c: (read.append(len(ids)), step(way, ids, h, c))[1])
    LstmEdits(model=model(both=True)).logits(work)
    assert sum(read) < 0.65 * 2 * work.length.sum()


def test_deep_models_are_refused() -> None:
    with pytest.raises(SettingError, match="one layer"):
        LstmEdits(model=model(both=False, depth=2))


def test_states_of_bases_seen_in_the_last_call_serve_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = many_edits(4, 12), many_edits(4, 12)
    second = [Variants(g.base, g.slots[::-1].copy(), g.words) for g in second[1:]]
    scorer, read = LstmEdits(model=model(both=True)), LstmEdits._read
    seen: list[int] = []
    monkeypatch.setattr(
        LstmEdits, "_read", lambda self, way, work, bases: (seen.append(len(bases)), read(self, way, work, bases))[1]
    )
    for variants in (first, second):
        pool = Pool(variants)
        work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=99))
        assert (scorer.logits(work) - alone(scorer.model, pool, 99)).abs().max() < 1e-5
    assert seen == [4, 4], "once for each direction, and not again for three of the four"
