"""Packing: texts laid end to end without padding, in batches of one size that a GPU records once and replays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from malaprop.core.text import Ints
from malaprop.models.tokens.splice import Splice

_AT_ONCE = 1 << 22  # tokens laid out at a time
_LEAST = 24  # tokens of a text, of which a batch has room for as many as would fill it; shorter texts leave some free


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Texts end to end; filling behind the last is seen by no text, and room for more texts stays empty."""

    ids: Int[Tensor, " token"]
    place: Int[Tensor, " token"]  # of a token in its text
    second: Int[Tensor, " token"]  # 1 in the second segment
    edges: Int[Tensor, " text_1"]  # where each text begins, and where the last one ends

    @classmethod
    def blank(cls, tokens: int, texts: int, device: torch.device) -> Packed:
        ids, place, second = torch.zeros(3, tokens, dtype=torch.int32, device=device)
        return cls(ids, place, second, torch.zeros(texts + 1, dtype=torch.int32, device=device))


class PackedNetwork(Protocol):
    """A network through which packed texts pass; `most` is a bound on the tokens of a text."""

    @property
    def labels(self) -> int: ...

    @property
    def separator(self) -> int | None:
        """Return the token behind which a text's second segment begins; None where there is one segment."""

    def forward(self, batch: Packed, most: int) -> Float[Tensor, "text label"]: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Packing:
    """Scores texts in batches of `tokens` tokens and room for a fixed number of texts, filled up with padding.

    Products of one size take the same path for each row whatever the others hold, and attention stays within a text:
    so a text's score is the same in any company, to the last bit. And as all batches are alike, their hundred kernels
    are recorded once (a CUDA graph) and launched as one.
    """

    network: PackedNetwork
    tokens: int = 1 << 14
    longest: int = 512  # tokens of a text
    _recordings: dict[int, Recorded | Eager] = field(default_factory=dict, init=False, repr=False)

    @property
    def texts(self) -> int:
        return max(1, self.tokens // _LEAST)

    @property
    def road(self) -> str:
        """Describe for reports how texts were batched so far."""
        made = self._recordings.values()
        return f"packed, {sum(isinstance(one, Recorded) for one in made)} of {len(made)} shapes recorded"

    def reach(self, longest: int) -> int:
        """Return the length that attention makes room for, `longest` or more; it changes the time and nothing else."""
        return min(self.longest, max(128, 1 << (longest - 1).bit_length()))

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        assert work.limit <= self.longest <= self.tokens
        out = torch.empty(work.count, self.network.labels, device=work.device)
        for span in batches(work.length, max(_AT_ONCE, self.tokens), work.count):
            laid, edges = self._laid(work, span)
            parts = list(batches(work.length[span], self.tokens, self.texts))
            starts = edges[[part.start for part in parts]]
            (ends,) = work.ship(_edges(edges, parts, self.texts))
            recorded = self._recorded(self.reach(int(work.length[span].max())), work.device)
            for part, start, these in zip(parts, starts.tolist(), ends, strict=True):
                many = slice(start, start + self.tokens)
                batch = Packed(laid.ids[many], laid.place[many], laid.second[many], these)
                to = slice(span.start + part.start, span.start + part.stop)
                out[to] = recorded.replay(batch)[: part.stop - part.start]
        if not work.length.all():  # a text without a token would be given the logits of its neighbour
            out[work.ship(np.flatnonzero(work.length == 0))[0]] = 0
        return out

    def _recorded(self, most: int, device: torch.device) -> Recorded | Eager:
        if most not in self._recordings:
            first = next(iter(self._recordings.values()), None)
            self._recordings[most] = _prepared(self, most, device, first)
        return self._recordings[most]

    def _laid(self, work: Splice, span: slice) -> tuple[Packed, Ints]:
        """Return all texts of a span end to end, and where they begin; the host loops over no tokens."""
        edges = np.concatenate([[0], np.cumsum(work.length[span])])
        (ends,) = work.ship(edges)
        token = torch.arange(int(edges[-1]), device=work.device)
        text = torch.searchsorted(ends[1:], token, right=True)
        place = token - ends[text]
        ids = work.at_places(np.arange(span.start, span.stop), text, place)
        separator = self.network.separator
        second = torch.zeros_like(ids) if separator is None else _second(ids, separator, ends[text])
        return Packed(ids.int(), place.int(), second.int(), ends), edges


def _prepared(packing: Packing, most: int, device: torch.device, other: Recorded | Eager | None) -> Recorded | Eager:
    """Return a recording, where there is a GPU and the network never waits for the host; else an eager pass."""
    eager = Eager(packing, most, device, other)
    if device.type != "cuda" or isinstance(other, Eager) or waits(eager.run):
        return eager
    return Recorded(packing, most, device, other)


def waits(work: Callable[[], object]) -> bool:
    """Return whether this work on a GPU waits for the host or fails, so that it cannot be recorded."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        work()
    except RuntimeError:
        return True
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return False


class Eager:
    """The forward of one batch over fixed memory, as a recording has it, where nothing can be recorded."""

    def __init__(self, packing: Packing, most: int, device: torch.device, other: Recorded | Eager | None) -> None:
        self.packing, self.most = packing, most
        self.held: Packed = Packed.blank(packing.tokens, packing.texts, device) if other is None else other.held

    def replay(self, batch: Packed) -> Float[Tensor, "text label"]:
        _fill(self.held, batch)
        return self.run()

    def run(self) -> Float[Tensor, "text label"]:
        return self.packing.network.forward(self.held, self.most)


class Recorded:
    """The forward of one batch as a recording over fixed memory, shared with `other`: they never run at once."""

    def __init__(self, packing: Packing, most: int, device: torch.device, other: Recorded | Eager | None) -> None:
        self.held: Packed = Packed.blank(packing.tokens, packing.texts, device) if other is None else other.held
        network = packing.network
        aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(aside):  # kernels are chosen and memory is found before the recording
            for _ in range(2):
                network.forward(self.held, most)
        torch.cuda.current_stream(device).wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        pool = other.graph.pool() if isinstance(other, Recorded) else None
        with torch.cuda.graph(self.graph, pool=pool, capture_error_mode="thread_local"):
            self.out = network.forward(self.held, most)

    def replay(self, batch: Packed) -> Float[Tensor, "text label"]:
        """Return the answer, in memory that the next replay overwrites."""
        _fill(self.held, batch)
        self.graph.replay()
        return self.out


def _fill(held: Packed, batch: Packed) -> None:
    """Copy a batch to where the recording reads it; an earlier batch's leftovers behind its texts are filling."""
    for to, given in zip((held.ids, held.place, held.second), (batch.ids, batch.place, batch.second), strict=True):
        to[: len(given)].copy_(given)
    held.edges.copy_(batch.edges)


def _second(ids: Int[Tensor, " token"], separator: int, start: Int[Tensor, " token"]) -> Int[Tensor, " token"]:
    """Return 1 behind the first separator of each text, 0 up to and with it."""
    here = (ids == separator).long()
    before = here.cumsum(0) - here
    return (before - before[start]).clamp_(max=1)


def _edges(edges: Ints, parts: list[slice], texts: int) -> Ints:
    """Return for each batch where its texts begin; places for further texts hold the end of the last one."""
    index = np.asarray([part.start for part in parts])[:, None] + np.arange(texts + 1)
    index = np.minimum(index, np.asarray([part.stop for part in parts])[:, None])
    return np.asarray(edges[index] - edges[index[:, :1]])


def batches(length: Ints, tokens: int, texts: int) -> Iterator[slice]:
    """Yield slices of neighbours, at most so many tokens and texts together; a longer text comes alone."""
    ends = np.cumsum(length)
    begin = 0
    while begin < len(length):
        before = int(ends[begin - 1]) if begin else 0
        end = min(int(np.searchsorted(ends, before + tokens, side="right")), begin + texts)
        yield slice(begin, max(begin + 1, end))
        begin = max(begin + 1, end)


# --- attention within each of several texts that lie end to end: one kernel on a GPU, text by text elsewhere


def can_pack() -> bool:
    """Return whether this torch has attention over texts of any length; 2.10 brought it."""
    return find_spec("torch.nn.attention.varlen") is not None


class Edges(NamedTuple):
    """Where texts begin among tokens that lie end to end, with the end of the last; and the longest text."""

    at: Int[Tensor, " text_1"]
    longest: int


def attend(
    q: Float[Tensor, "query head each"],
    k: Float[Tensor, "token few each"],
    v: Float[Tensor, "token few each"],
    q_edges: Edges,
    k_edges: Edges,
    *,
    scale: float | None = None,
    window: tuple[int, int] = (-1, -1),
) -> Float[Tensor, "query head each"]:
    """Compute attention of each query within its own text; rows of filling get meaningless values.

    `window` is how many tokens before and behind itself a token sees, -1 for all; keys may have fewer heads, each
    for several of the queries'.
    """
    if not q.is_cuda or q.dtype == torch.float32:  # which the kernel does not know
        return _one_by_one(q, k, v, q_edges.at, k_edges.at, scale, window)
    from torch.nn.attention.varlen import varlen_attn

    known, more = _options(), dict[str, Any]()
    if scale is not None and ("scale" in known or scale != q.shape[2] ** -0.5):
        more["scale"] = scale
    if window != (-1, -1):
        more |= {"window_size": window} if "window_size" in known else _causal(window)
    if k.shape[1] != q.shape[1]:
        if "enable_gqa" in known:
            more["enable_gqa"] = True
        else:
            k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    call: Any = varlen_attn
    seen: Tensor = call(q, k, v, q_edges.at, k_edges.at, q_edges.longest, k_edges.longest, **more)
    return seen


def _causal(window: tuple[int, int]) -> dict[str, Any]:
    """Return the options of causal attention for torch 2.10, which has no windows; raise for any other window."""
    if window != (-1, 0):
        raise NotImplementedError("attention in a window needs torch 2.11")
    return {"is_causal": True}


@cache
def _options() -> frozenset[str]:
    from torch.nn.attention.varlen import varlen_attn

    return frozenset(inspect.signature(varlen_attn).parameters)


def _one_by_one(
    q: Float[Tensor, "query head each"],
    k: Float[Tensor, "token few each"],
    v: Float[Tensor, "token few each"],
    q_edges: Int[Tensor, " text_1"],
    k_edges: Int[Tensor, " text_1"],
    scale: float | None,
    window: tuple[int, int],
) -> Float[Tensor, "query head each"]:
    out = torch.zeros_like(q)
    ends = torch.stack([q_edges, k_edges]).tolist()
    for a, b, c, d in zip(ends[0], ends[0][1:], ends[1], ends[1][1:], strict=False):
        if d <= c:
            continue
        queries, keys, values = (t.transpose(0, 1)[None] for t in (q[a:b], k[c:d], v[c:d]))
        mask = None
        if window != (-1, -1):
            apart = torch.arange(b - a, device=q.device)[:, None] - torch.arange(d - c, device=q.device)[None]
            before, behind = (w if w >= 0 else d - c for w in window)
            mask = (apart <= before) & (-apart <= behind)
        seen = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, scale=scale, enable_gqa=k.shape[1] != q.shape[1]
        )
        out[a:b] = seen[0].transpose(0, 1)
    return out
