from __future__ import annotations

import numpy as np
import pytest
import torch
from word_edits import VOCABULARY, alone, cut, many_edits

from malaprop.core.pool import Pool
from malaprop.models.scorers.plain import Plain
from malaprop.models.tokens.pieces import Pieces
from malaprop.models.tokens.splice import Frame, splice
from malaprop.zoo.blocks.cnn import WordCNN


@pytest.mark.parametrize("limit", [99, 19])
@torch.inference_mode()
def test_a_bucket_changes_no_score_and_no_more_shapes_come_than_there_are_buckets(limit: int) -> None:
    torch.manual_seed(0)
    cnn, seen = WordCNN(VOCABULARY, 3, dim=8, filters=6).eval(), []

    def forward(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        seen.append(tuple(ids.shape))
        assert ids.shape[1] <= limit, "a model has no places beyond what it reads"
        logits: torch.Tensor = cnn(ids, lengths)
        return logits

    pool = Pool(many_edits(5, 9))
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=limit))
    expected = alone(cnn, pool, limit)
    plain = Plain(forward=forward)
    for count in (1, 5, 17, 40):
        part = np.arange(count)
        assert (plain._in_bucket(work, part) - expected[part]).abs().max() < 1e-5
    assert {rows for rows, _ in seen} == {16, 32, 64}
    assert all(width % 16 == 0 or width == limit for _, width in seen)
