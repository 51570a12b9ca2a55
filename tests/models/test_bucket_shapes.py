"""Buckets: what is left over goes in smaller batches where that changes no bit, and what is brought from the host."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from malaprop.models.scorers.buckets import Buckets, HostTensorMode, width_of
from malaprop.models.tokens.splice import Splice

ROWS = [[1 + (n + k) % 50 for k in range(9 + n % 8)] for n in range(100)]


def spy(change: float = 0.0) -> tuple[Buckets, list[int]]:
    """A model that sums tokens, and the rows of its batches; `change` is what a smaller batch adds."""
    passed: list[int] = []

    def forward(ids, lengths):
        passed.append(len(ids))
        inside = torch.arange(ids.shape[1])[None] < lengths[:, None]
        return ((ids * inside).sum(1, keepdim=True) + change * (len(ids) < 64)).float().expand(-1, 2)

    return Buckets(forward=forward, tokens=1024), passed


@pytest.mark.parametrize(("change", "sizes"), [(0.0, [64, 16, 16, 16]), (1e-3, [64, 64])])
def test_what_is_left_over_goes_in_smaller_batches_only_if_no_bit_changes(change: float, sizes: list[int]) -> None:
    buckets, passed = spy(change)
    work = Splice.of_rows(ROWS, limit=512)
    expected = torch.tensor([[float(sum(row))] * 2 for row in ROWS])
    assert torch.equal(buckets.logits(work), expected)
    passed.clear()
    assert torch.equal(buckets.logits(work), expected)
    assert passed == sizes
    assert "recorded" in buckets.road


def test_too_few_texts_to_tell_are_passed_in_a_whole_batch() -> None:
    buckets, passed = spy()
    buckets.logits(Splice.of_rows(ROWS[:5], limit=512))
    assert passed == [64]


def test_a_bucket_is_never_narrower_than_its_text_and_at_most_a_quarter_wider() -> None:
    length = np.arange(1, 600)
    width = width_of(length)
    assert (width >= length).all()
    assert (width - length < np.maximum(8, length / 4)).all()


@torch.jit.script
def table(x: torch.Tensor, size: int) -> torch.Tensor:
    return torch.tensor(size).type_as(x)


def test_what_a_pass_brings_from_the_host_is_given_again_in_the_next() -> None:
    x, kept = torch.zeros(3, device="meta"), HostTensorMode()  # a device that is not the host
    with torch.inference_mode():
        for _ in range(3):
            with kept.afresh():
                first = (torch.arange(4).to(x.device), table(x, 7), torch.ones(2) * torch.tensor(2.0))
        with kept.again():
            second = (torch.arange(4).to(x.device), table(x, 7), torch.ones(2) * torch.tensor(2.0))
        kept.check_all_given()
        assert first[0] is second[0]
        assert second[1].shape == ()
        assert second[2].tolist() == [2.0, 2.0]
        with kept.again(), pytest.raises(RuntimeError, match="from the host"):
            torch.arange(9).to(x.device)
        with pytest.raises(RuntimeError, match="of 2 tables"):
            kept.check_all_given()
