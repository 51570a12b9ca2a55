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


def _plain(holds: int, seen: list[int]) -> tuple[Plain, WordCNN]:
    """A forward on a device that holds so many rows."""
    torch.manual_seed(0)
    cnn = WordCNN(VOCABULARY, 3, dim=8, filters=6).eval()

    def forward(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        if len(ids) > holds:
            raise torch.OutOfMemoryError("tried to allocate more than there is")
        seen.append(len(ids))
        logits: torch.Tensor = cnn(ids, lengths)
        return logits

    return Plain(forward=forward), cnn


@torch.inference_mode()
def test_a_batch_that_does_not_fit_is_halved_and_answers_stay_in_order() -> None:
    seen: list[int] = []
    plain, cnn = _plain(7, seen)
    pool = Pool(many_edits(5, 9))
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=99))
    assert (plain.logits(work) - alone(cnn, pool, 99)).abs().max() < 1e-5
    assert max(seen) <= 7
    assert sum(seen) == pool.size, "nothing is asked twice but what failed"


@torch.inference_mode()
def test_a_text_that_does_not_fit_alone_is_said() -> None:
    plain, _ = _plain(0, [])
    pool = Pool(many_edits(5, 9))
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=99))
    with pytest.raises(torch.OutOfMemoryError):
        plain.logits(work)
