from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from word_edits import VOCABULARY, alone, cut, groups, many_edits

from malaprop.core.pool import Pool
from malaprop.core.variants import Variants
from malaprop.models.tokens.pieces import Pieces
from malaprop.models.tokens.splice import Frame, Splice, splice
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.scorers.edits import Edits, keep_large_groups
from malaprop.zoo.scorers.lstm import LstmEdits
from malaprop.zoo.scorers.lstm_steps import STEPS, LstmStrips, Strip, Ways


def strips(lstm: WordLSTM, sizes: tuple[int, ...]) -> LstmStrips:
    scorer = LstmEdits(model=lstm)
    ways = Ways.of([way.table for way in scorer.ways], [way.weight for way in scorer.ways])
    return LstmStrips(ways, unknown=scorer.unknown, sizes=sizes)


def logits(lstm: WordLSTM, work: Splice, sizes: tuple[int, ...]) -> torch.Tensor:
    edits = Edits.of(work)
    with torch.inference_mode():
        return lstm.head(strips(lstm, sizes).tops(work, edits, keep_large_groups(work, edits.fits)))


def model(*, both: bool) -> WordLSTM:
    torch.manual_seed(0)
    return WordLSTM(VOCABULARY, 3, dim=8, hidden=6, both=both).eval()


@settings(max_examples=80, deadline=None)
@given(groups(), st.sampled_from([99, 12, 6, 1]), st.booleans(), st.sampled_from([(2, 5), (3,), (64, 128)]))
def test_strips_are_the_plain_forward(variants: list[Variants], limit: int, both: bool, sizes: tuple[int, ...]) -> None:
    pool, lstm = Pool(variants), model(both=both)
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=limit))
    assert (logits(lstm, work, sizes) - alone(lstm, pool, limit)).abs().max() < 1e-5


def test_a_round_takes_few_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, lstm = Pool(many_edits(8, 40)), model(both=True)
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=99))
    seen, advance = [], Strip.advance
    monkeypatch.setattr(Strip, "advance", lambda strip: (seen.append(strip.rows), advance(strip))[1])
    assert (logits(lstm, work, (16, 512)) - alone(lstm, pool, 99)).abs().max() < 1e-5
    longest = -(-int(work.length.max()) // STEPS)
    assert seen == [16] * longest + [512] * longest, "the bases, then all variants of both directions"
