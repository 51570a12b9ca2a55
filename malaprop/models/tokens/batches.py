"""Batches of rows of similar length, as large as the device holds, and the copy of their scores to the host."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from malaprop.core.errors import SettingError
from malaprop.core.text import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of a batch: `rows` texts and `tokens` tokens with padding, of which padding a share of `waste`.

    A batch of up to `small` tokens may have any share of padding: a GPU takes as long for it as for fewer.
    """

    rows: int = 64
    tokens: int = 1 << 15
    waste: float = 0.2
    small: int = 0

    def __post_init__(self) -> None:
        if min(self.rows, self.tokens) < 1 or not 0 <= self.waste <= 1:
            raise SettingError(f"Bounds needs rows and tokens of at least 1 and waste from 0 to 1, got {self}")


_BLOCKING_SYNC = 4  # cudaDeviceScheduleBlockingSync
_parts = {"gpu": 1}  # processes that share this one's GPU


def read_parts() -> int:
    """Return how many processes share a GPU, as `$MALAPROP_GPU_PARTS` says; 1 where it is not set."""
    parts = os.environ.get("MALAPROP_GPU_PARTS") or "1"
    if not parts.isdecimal() or not int(parts):
        raise SettingError(f"MALAPROP_GPU_PARTS is a number of processes, 1 or more, got {parts!r}")
    return int(parts)


def share_gpu(parts: int) -> None:
    """Limit this process to its part of a GPU that so many share; of several calls the largest number holds.

    While it waits for the GPU it leaves its core to the others: where processes outnumber cores, those that wait would
    take the time of those that have work to give it.
    """
    _parts["gpu"] = max(_parts["gpu"], parts)
    if is_shared():
        sleep_while_waiting()
    torch.cuda.set_per_process_memory_fraction(0.95 / _parts["gpu"])


def is_shared() -> bool:
    """Return whether other processes work on this one's GPU."""
    return _parts["gpu"] > 1


def sleep_while_waiting() -> bool:
    """Ask CUDA to sleep rather than to poll while it waits for the GPU; return whether that was possible.

    PyTorch has no word for it; its CUDA library, which it has loaded, has. Best called before the GPU is first used.
    """
    major = (torch.version.cuda or "").partition(".")[0]
    name = "libcudart.so.11.0" if major == "11" else f"libcudart.so.{major}"
    try:
        return bool(major) and ctypes.CDLL(name).cudaSetDeviceFlags(_BLOCKING_SYNC) == 0
    except (OSError, AttributeError):
        return False


def avoid_cudnn_attention() -> None:
    """Leave attention to PyTorch's own kernels in this process.

    cuDNN plans it anew for every shape of a batch, for longer than a small pass takes, and attacks and trainings ask in
    ever new shapes: on an H200 a step of `harden a2t` took 141 ms with it and 37 without.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def crowded(device: torch.device) -> bool:
    """Return whether this process has taken more than half of its part of the GPU's memory."""
    if device.type != "cuda":
        return False
    return torch.cuda.memory_reserved(device) > torch.cuda.mem_get_info(device)[1] * 0.95 / _parts["gpu"] / 2


def bounds_for(device: torch.device, *, rows: int = 64, bytes_per_token: int = 1 << 16) -> Bounds:
    """Return batch limits: on a CPU `rows` texts (activations stay cached), on a GPU a quarter of its free memory."""
    if device.type != "cuda":
        return Bounds(rows=rows)
    free, total = torch.cuda.mem_get_info(device)
    free = min(free, total // _parts["gpu"])
    tokens = max(1, min(1 << 20, free // 4 // bytes_per_token))
    return Bounds(rows=8192, tokens=tokens, waste=0.4, small=1 << 12)


def batches(length: Ints, bounds: Bounds, *, even: bool = False) -> Iterator[Ints]:
    """Yield the indices of all rows in batches, shorter rows first; with `even` all rows of a batch have one length.

    A row over the bound on tokens is a batch of its own.
    """
    order = np.argsort(length, kind="stable")
    ordered = np.maximum(length[order], 1)
    waste, small = (0.0, 0) if even else (bounds.waste, bounds.small)
    begin = 0
    while begin < len(order):
        here = ordered[begin : begin + bounds.rows]
        padded = here * np.arange(1, len(here) + 1)
        dense = (padded - np.cumsum(here) <= waste * padded) | (padded <= small)
        fine = (padded <= bounds.tokens) & dense
        fine[0] = True
        end = begin + int(np.flatnonzero(fine)[-1]) + 1
        yield order[begin:end]
        begin = end


@contextmanager
def aside(device: torch.device) -> Iterator[None]:
    """Run the block on a stream of its own on a GPU, ahead of rounds in flight."""
    if device.type != "cuda":
        yield
        return
    with torch.cuda.stream(_high_stream(torch.cuda.current_device() if device.index is None else device.index)):
        yield


@cache
def _high_stream(device: int) -> torch.cuda.Stream:
    """Return a device's stream for urgent work: always the same, for each has memory of its own that it keeps."""
    return torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, eq=False)
class PendingScores:
    """Scores on their way to the host; `ready` says when they are there."""

    scores: Float[Tensor, "wanted label"]
    ready: torch.cuda.Event | None = None

    def wait(self) -> Float[Tensor, "wanted label"]:
        """Wait for the copy and return the scores."""
        if self.ready is not None:
            self.ready.synchronize()
        return self.scores


def copy_to_host(scores: Float[Tensor, "wanted label"]) -> PendingScores:
    """Start the copy to the host without waiting for it."""
    if not scores.is_cuda:
        return PendingScores(scores=scores)
    host = torch.empty(scores.shape, pin_memory=True)
    host.copy_(scores, non_blocking=True)
    ready = torch.cuda.Event(blocking=is_shared())  # type: ignore[no-untyped-call]
    ready.record()
    return PendingScores(scores=host, ready=ready)
