"""Several processes on one GPU: each keeps to its part. CUDA itself is stood in for."""

import pytest
import torch

from malaprop.models import batches
from malaprop.models.batches import bounds_for, crowded, share_gpu

GIB = 1 << 30
CUDA = torch.device("cuda")


@pytest.fixture
def gpu(monkeypatch):
    """140 GiB, of which 120 are free; says what was set and holds what is taken."""
    state = {"reserved": 0, "fraction": None}
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (120 * GIB, 140 * GIB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: state["reserved"])
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda f: state.update(fraction=f))
    monkeypatch.setitem(batches._parts, "gpu", 1)
    return state


def test_batches_are_smaller_where_the_gpu_is_shared(gpu):
    alone = bounds_for(CUDA, bytes_per_token=1 << 20)
    share_gpu(14)
    shared = bounds_for(CUDA, bytes_per_token=1 << 20)
    assert gpu["fraction"] == pytest.approx(0.95 / 14)
    assert (alone.tokens, shared.tokens) == (120 * 1024 // 4, 10 * 1024 // 4)


def test_half_of_ones_part_is_crowded(gpu):
    share_gpu(14)
    gpu["reserved"] = 4 * GIB
    assert not crowded(CUDA)
    gpu["reserved"] = 5 * GIB
    assert crowded(CUDA)
    assert not crowded(torch.device("cpu"))
