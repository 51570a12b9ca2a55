"""Buckets: padded batches of few shapes, each with one number of rows, recorded where the model allows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from malaprop.core.text import Ints
from malaprop.models.scorers.packing import waits
from malaprop.models.scorers.plain import Forward, in_order
from malaprop.models.tokens.splice import Splice

_aten = torch.ops.aten
_MOVES = {_aten.to, _aten._to_copy, _aten.type_as}


class HostTensorMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Some models make tables of positions or single numbers on the host at every pass, and a recording (CUDA graph)
    cannot hold a copy from there. They follow from the shape of a batch alone, so those of an earlier pass of the same
    shape serve as well: within `with kept:` they are collected, and after `again()` given in the same order."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._kept: list[Tensor] = []
        self._next: int | None = None  # None: collects

    def again(self) -> HostTensorMode:
        self._next = 0
        return self

    def afresh(self) -> HostTensorMode:
        self._kept, self._next = [], None
        return self

    def check_all_given(self) -> None:
        if self._next != len(self._kept):
            raise RuntimeError(f"of {len(self._kept)} tables of the last pass this one took {self._next}")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if getattr(func, "overloadpacket", None) not in _MOVES or not _leaves_host(args, named):
            return func(*args, **named)
        if self._next is None:
            self._kept.append(func(*args, **named))
            return self._kept[-1]
        if self._next >= len(self._kept) or self._kept[self._next].shape != args[0].shape:
            raise RuntimeError("this pass brings something from the host that the last one did not")
        self._next += 1
        return self._kept[self._next - 1]


def _leaves_host(args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether a call moves a tensor of the host to a device."""
    if args[0].device.type != "cpu":
        return False
    given = [*args[1:], *named.values()]
    places = [x.device if isinstance(x, Tensor) else x for x in given if isinstance(x, (Tensor, torch.device))]
    return any(place.type != "cpu" for place in places)


_STEP = 8  # tokens by which one bucket is wider than the last; from 64 tokens on up to a quarter of the width
_PART = 4  # a batch of few texts has a quarter of the rows, if that changes no bit
_SAMPLE = 16  # texts that it is tried on, or more


def width_of(length: Ints) -> Ints:
    """Return the width of each text's bucket: a function of its own length alone, never less than it."""
    size = np.maximum(length, 1)
    step = np.maximum(_STEP, 1 << np.maximum(0, np.floor(np.log2(size)).astype(np.int64) - 2))
    return np.asarray(-(-size // step) * step)


@dataclass(frozen=True, eq=False, kw_only=True)
class Buckets:
    """Scores padded batches of few shapes, for models whose attention cannot be packed (relative positions).

    Texts are padded to the width of their bucket, and a bucket is always passed with one number of rows, about `tokens`
    tokens in all: so products have the same shape whatever else is asked, and no neighbour changes an answer. What is
    left over may go in batches of a quarter of the rows where these were seen to give the very same bits.
    """

    forward: Forward  # masks padding
    pad: int = 0
    tokens: int = 1 << 13
    longest: int = 512
    _shapes: dict[tuple[int, int], _Shape] = field(default_factory=dict, init=False, repr=False)
    _same: dict[int, bool] = field(default_factory=dict, init=False, repr=False)  # by width: few rows, the same bits

    @property
    def road(self) -> str:
        """Describe for reports how texts were batched so far."""
        made = self._shapes.values()
        same = f", in {sum(self._same.values())} of {len(self._same)} buckets with fewer rows" if self._same else ""
        return f"padded in {len(made)} shapes, {sum(shape.graph is not None for shape in made)} recorded{same}"

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        width = np.minimum(width_of(work.length), max(self.longest, int(work.length.max(initial=1))))
        order = np.argsort(width, kind="stable")
        parts: list[Ints] = []
        answers: list[Tensor] = []
        edges = np.flatnonzero(np.diff(width[order], prepend=-1, append=-1))
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            parts.append(order[low:high])
            answers += self._answers(work, parts[-1], int(width[order[low]]))
        return in_order(work, parts, answers)

    def _answers(self, work: Splice, part: Ints, width: int) -> list[Tensor]:
        """Return the logits of the texts in one bucket."""
        full = self._shape(width, 1, work.device)
        over = len(part) % full.rows
        whole, rest = part[: len(part) - over], part[len(part) - over :]
        answers = [full.answer(work, whole[at : at + full.rows]) for at in range(0, len(whole), full.rows)]
        if not over:
            return answers
        if over <= full.rows - max(1, full.rows // _PART):
            if self._same.get(width):
                return answers + self._in_few(work, rest, width)
            if width not in self._same and over >= _SAMPLE:
                found = full.answer(work, rest)
                self._same[width] = torch.equal(found, torch.cat(self._in_few(work, rest, width)))
                return [*answers, found]
        return [*answers, full.answer(work, rest)]

    def _in_few(self, work: Splice, part: Ints, width: int) -> list[Tensor]:
        few = self._shape(width, _PART, work.device)
        return [few.answer(work, part[at : at + few.rows]) for at in range(0, len(part), few.rows)]

    def _shape(self, width: int, less: int, device: torch.device) -> _Shape:
        rows = max(1, self.tokens // width // less)
        if (width, rows) not in self._shapes:
            self._shapes[width, rows] = _Shape(self, width, rows, device)
        return self._shapes[width, rows]


class _Shape:
    """The batches of one width and number of rows: the first is passed as it is, the next recorded on a GPU."""

    def __init__(self, buckets: Buckets, width: int, rows: int, device: torch.device) -> None:
        self.buckets, self.width, self.rows = buckets, width, rows
        self.ids = torch.full((self.rows, width), buckets.pad, device=device)
        self.lengths = torch.ones(self.rows, dtype=torch.int64, device=device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.out: Tensor | None = None
        self.brought = HostTensorMode()
        self.fails: bool = device.type != "cuda" or any(other.fails for other in buckets._shapes.values())

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

    def _again(self) -> Float[Tensor, "row label"]:
        """Pass the batch with the host tensors that the last pass collected."""
        with self.brought.again():
            out = self._forward()
        self.brought.check_all_given()
        return out

    def _record(self) -> None:
        """Record a pass, unless the model waits for the host during it; then the shape stays unrecorded."""
        device = self.ids.device
        aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(aside):
            for _ in range(3):  # TorchScript, which some models use, settles by then
                with self.brought.afresh():
                    self._forward()
            self.fails = waits(self._again)
        torch.cuda.current_stream(device).wait_stream(aside)
        if self.fails:
            return
        graph = torch.cuda.CUDAGraph()
        others = (shape.graph for shape in self.buckets._shapes.values() if shape.graph is not None)
        pool = next((other.pool() for other in others), None)  # one memory for all: they never run at once
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            self.out = self._again()
        self.graph = graph
