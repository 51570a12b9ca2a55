"""A step that does the same work on the same tensors every time: a GPU repeats it as one graph.

A step of a small network is hundreds of short kernels. Started one by one from Python they leave the GPU waiting.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from malaprop.training.task import Figures

_ONE_BY_ONE = 3  # steps before the graph: libraries choose their kernels, and optimisers make their state


class RepeatedStep:
    """Does the work it is given; on a GPU as a graph that was recorded at the fourth step.

    The work must be the same at every call: no number that changes, no tensor but those it was recorded with, no look
    at a value. What it gives lies in the same tensors every time.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._done = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._figures: Figures = {}

    def __call__(self, work: Callable[[], Figures]) -> Figures:
        if self._device.type != "cuda":
            return work()
        with torch.cuda.device(self._device):
            if self._graph is None and self._done < _ONE_BY_ONE:
                self._done += 1
                return self._work_aside(work)
            if self._graph is None:
                self._graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self._graph):  # records the work and does none of it
                    self._figures = work()
            self._graph.replay()
            return self._figures

    def _work_aside(self, work: Callable[[], Figures]) -> Figures:
        """On a stream of its own, as gradients of a graph may not wait for the usual one."""
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            figures = work()
        torch.cuda.current_stream().wait_stream(aside)
        return figures
