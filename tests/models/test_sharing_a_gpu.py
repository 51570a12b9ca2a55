"""Several processes on one GPU: each keeps to its part. CUDA itself is stood in for."""

from contextlib import nullcontext
from functools import cache

import pytest
import torch

from malaprop.core.errors import SettingError
from malaprop.frame.runs.victims import device_of
from malaprop.frame.tasks.worker_context import Place
from malaprop.models.tokens import batches
from malaprop.models.tokens.batches import aside, bounds_for, copy_to_host, crowded, share_gpu, sleep_while_waiting

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


def test_the_environment_says_how_many_share_it(gpu, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "empty", lambda *size, **options: None)
    monkeypatch.setenv("MALAPROP_GPU_PARTS", "5")
    assert device_of("auto") == "cuda"
    assert gpu["fraction"] == pytest.approx(0.95 / 5)
    monkeypatch.setenv("MALAPROP_GPU_PARTS", "many")
    with pytest.raises(SettingError, match="MALAPROP_GPU_PARTS"):
        device_of("cuda")


def test_workers_keep_to_the_part_that_the_environment_gives_their_study(gpu, monkeypatch, tmp_path):
    """Other studies may be on the GPU: their own number is not that of all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_GPU_PARTS", "16")
    Place(root=tmp_path, device="cuda:0", sharing=5, home=str(tmp_path)).apply()
    assert gpu["fraction"] == pytest.approx(0.95 / 16)
    Place(root=tmp_path, device="cuda:0", sharing=20, home=str(tmp_path)).apply()
    assert gpu["fraction"] == pytest.approx(0.95 / 20)


def test_attention_is_not_left_to_a_library_that_plans_each_shape(gpu, monkeypatch, tmp_path):
    """Neither in the process that was asked for a GPU nor in its workers."""
    monkeypatch.setattr(torch, "empty", lambda *size, **options: None)
    place = Place(root=tmp_path, device="cuda:0", home=str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        for begin in (lambda: device_of("cuda:0"), place.apply):
            torch.backends.cuda.enable_cudnn_sdp(True)
            begin()
            assert not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


def test_of_two_counts_of_processes_the_larger_holds(gpu):
    share_gpu(14)
    share_gpu(3)
    assert gpu["fraction"] == pytest.approx(0.95 / 14)


class Library:
    """In the place of CUDA's: notes the flags that it is given."""

    def __init__(self, answer=0):
        self.answer, self.flags = answer, []

    def cudaSetDeviceFlags(self, flags):
        self.flags.append(flags)
        return self.answer


@pytest.mark.parametrize(("version", "name"), [("13.0", "libcudart.so.13"), ("11.8", "libcudart.so.11.0")])
def test_a_process_that_shares_a_gpu_sleeps_while_it_waits(gpu, monkeypatch, version, name):
    """One that looked again and again would take the core of another."""
    library, opened = Library(), []
    monkeypatch.setattr(torch.version, "cuda", version)
    monkeypatch.setattr(batches.ctypes, "CDLL", lambda asked: opened.append(asked) or library)
    share_gpu(1)
    assert library.flags == []
    share_gpu(2)
    assert (opened, library.flags) == ([name], [4])


def test_without_the_library_or_with_one_that_refuses_it_waits_as_before(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", None)
    assert not sleep_while_waiting()
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(batches.ctypes, "CDLL", lambda asked: Library(answer=36))
    assert not sleep_while_waiting()

    def fail(asked):
        raise OSError(asked)

    monkeypatch.setattr(batches.ctypes, "CDLL", fail)
    assert not sleep_while_waiting()


@pytest.mark.parametrize("parts", [1, 2])
def test_scores_are_waited_for_asleep_where_the_gpu_is_shared(gpu, monkeypatch, parts):
    made = []

    class Event:
        def __init__(self, **options):
            made.append(options)

        def record(self):
            pass

    class Scores:
        is_cuda, shape = True, (2, 3)

    class Host:
        def copy_(self, scores, non_blocking):
            assert non_blocking

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch, "empty", lambda *size, **options: Host())
    share_gpu(parts)
    copy_to_host(Scores())
    assert made == [{"blocking": parts > 1}]


def test_whole_texts_are_read_on_one_stream_a_device(monkeypatch):
    made, used = [], []
    monkeypatch.setattr(torch.cuda, "Stream", lambda device, priority: made.append((device, priority)) or device)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext(used.append(stream)))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(batches, "_high_stream", cache(batches._high_stream.__wrapped__))  # with nothing kept
    for device in (CUDA, CUDA, torch.device("cuda:1"), torch.device("cuda:0"), torch.device("cpu")):
        with aside(device):
            pass
    assert made == [(0, -1), (1, -1)]
    assert used == [0, 0, 1, 0]
