"""Buckets: padded batches of few shapes, each with one number of rows, recorded where the model allows it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from malaprop.core.text import Ints
from malaprop.models.scorers.packing import waits
from malaprop.models.scorers.plain import Forward, in_order
from malaprop.models.splice import Splice

_STEP = 8  # tokens by which one bucket is wider than the last; from 64 tokens on an eighth of the width


def width_of(length: Ints) -> Ints:
    """The width of the bucket of each text: a function of its own length alone, never less than it."""
    size = np.maximum(length, 1)
    step = np.maximum(_STEP, 1 << np.maximum(0, np.floor(np.log2(size)).astype(np.int64) - 3))
    return np.asarray(-(-size // step) * step)


@dataclass(frozen=True, eq=False, kw_only=True)
class Buckets:
    """For models whose attention cannot be packed, such as those of relative positions.

    Texts are padded to the width of their bucket, and a bucket is always passed with one number of rows, about `tokens`
    tokens in all: so products have the same shape whatever else is asked, and no neighbour changes an answer.
    """

    forward: Forward  # masks padding
    pad: int = 0
    tokens: int = 1 << 13
    longest: int = 512
    _recordings: dict[int, _Shape] = field(default_factory=dict, init=False, repr=False)

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        width = np.minimum(width_of(work.length), max(self.longest, int(work.length.max(initial=1))))
        order = np.argsort(width, kind="stable")
        parts: list[Ints] = []
        answers: list[Tensor] = []
        edges = np.flatnonzero(np.diff(width[order], prepend=-1, append=-1))
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            shape = self._shape(int(width[order[low]]), work.device)
            for at in range(low, high, shape.rows):
                parts.append(order[at : min(at + shape.rows, high)])
                answers.append(shape.answer(work, parts[-1]))
        return in_order(work, parts, answers)

    def _shape(self, width: int, device: torch.device) -> _Shape:
        if width not in self._recordings:
            self._recordings[width] = _Shape(self, width, device)
        return self._recordings[width]


class _Shape:
    """The batches of one bucket: the first is passed as it comes, and then, on a GPU, recorded if that can be done."""

    def __init__(self, buckets: Buckets, width: int, device: torch.device) -> None:
        self.buckets, self.width = buckets, width
        self.rows = max(1, buckets.tokens // width)
        self.ids = torch.full((self.rows, width), buckets.pad, device=device)
        self.lengths = torch.ones(self.rows, dtype=torch.int64, device=device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.out: Tensor | None = None
        self.fails = device.type != "cuda"

    def answer(self, work: Splice, part: Ints) -> Float[Tensor, "text label"]:
        ids, lengths = work.rows(np.pad(part, (0, self.rows - len(part)), mode="edge"))  # a text again is filling
        self.ids.fill_(self.buckets.pad)
        self.ids[:, : ids.shape[1]] = ids
        self.lengths.copy_(lengths)
        if not self.fails and self.graph is None:
            self._record()
        if self.graph is None or self.out is None:
            return self._forward()[: len(part)]
        self.graph.replay()
        return self.out[: len(part)].clone()

    def _forward(self) -> Float[Tensor, "row label"]:
        return self.buckets.forward(self.ids, self.lengths).float()

    def _record(self) -> None:
        """Records, unless the model waits for the host on its way; then it goes on unrecorded."""
        device = self.ids.device
        aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(aside):
            for _ in range(3):  # TorchScript, which some models use, settles by then
                self._forward()
            self.fails = waits(self._forward)
        torch.cuda.current_stream(device).wait_stream(aside)
        if self.fails:
            return
        graph = torch.cuda.CUDAGraph()
        others = (shape.graph for shape in self.buckets._recordings.values() if shape.graph is not None)
        pool = next((other.pool() for other in others), None)  # one memory for all: they never run at once
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            self.out = self._forward()
        self.graph = graph
