"""PackedBert: BERT in half precision on a GPU, texts laid end to end without padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from malaprop.core.text import Ints
from malaprop.models.scorers.bertweights import BertWeights, Layer
from malaprop.models.splice import Splice

_AT_ONCE = 1 << 22  # tokens laid out at a time
_LEAST = 24  # tokens of a text, of which a batch has room for as many as would fill it; shorter texts leave some free


def can_pack() -> bool:
    """Whether this torch has attention over texts of any length; 2.10 brought it."""
    return find_spec("torch.nn.attention.varlen") is not None


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Texts end to end. Beyond the last there is filling, which no text sees; room for more texts is left empty."""

    ids: Int[Tensor, " token"]
    place: Int[Tensor, " token"]  # of a token in its text
    second: Int[Tensor, " token"]  # 1 in the second segment
    edges: Int[Tensor, " text_1"]  # where each text begins, and where the last one ends

    @classmethod
    def blank(cls, tokens: int, texts: int, device: torch.device) -> Packed:
        ids, place, second = torch.zeros(3, tokens, dtype=torch.int32, device=device)
        return cls(ids, place, second, torch.zeros(texts + 1, dtype=torch.int32, device=device))


@dataclass(frozen=True, eq=False, kw_only=True)
class PackedBert:
    """Every batch has `tokens` tokens and room for a fixed number of texts, filled up where there are fewer.

    Products of one size take the same path for each row whatever the others hold, and attention stays within a text:
    so a text's score is the same in any company, to the last bit. And as all batches are alike, their hundred kernels
    are recorded once (a CUDA graph) and launched as one.
    """

    weights: BertWeights  # on the GPU
    separator: int | None = None
    tokens: int = 1 << 14
    longest: int = 512  # tokens of a text
    _recordings: dict[int, _Recorded] = field(default_factory=dict, init=False, repr=False)

    @property
    def texts(self) -> int:
        return max(1, self.tokens // _LEAST)

    def reach(self, longest: int) -> int:
        """What attention makes room for where no text is longer: it costs time, and changes nothing else."""
        return min(self.longest, max(128, 1 << (longest - 1).bit_length()))

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        assert work.limit <= self.longest <= self.tokens
        out = torch.empty(work.count, len(self.weights.head.bias), device=work.device)
        for span in batches(work.length, max(_AT_ONCE, self.tokens), work.count):
            laid, edges = self._laid(work, span)
            parts = list(batches(work.length[span], self.tokens, self.texts))
            starts = edges[[part.start for part in parts]]
            (ends,) = work.ship(_edges(edges, parts, self.texts))
            recorded = self._recorded(self.reach(int(work.length[span].max())))
            for part, start, these in zip(parts, starts.tolist(), ends, strict=True):
                many = slice(start, start + self.tokens)
                batch = Packed(laid.ids[many], laid.place[many], laid.second[many], these)
                to = slice(span.start + part.start, span.start + part.stop)
                out[to] = recorded.replay(batch)[: part.stop - part.start]
        return out

    def forward(self, batch: Packed, most: int) -> Float[Tensor, "text label"]:
        weights, edges = self.weights, batch.edges
        x = F.embedding(batch.ids, weights.words) + F.embedding(batch.place, weights.places)
        if self.separator is not None:
            x += batch.second[:, None] * weights.second
        x = weights.norm(x)
        for layer in weights.layers:
            q, k, v = self._heads(layer.mixed(x), 3)
            x = layer.after(x, attend(q, k, v, edges, edges, most, most))
        return weights.ended(self._first_tokens(self._last, x, edges, most).float())

    def _first_tokens(
        self, layer: Layer, x: Float[Tensor, "token dim"], edges: Int[Tensor, " text_1"], most: int
    ) -> Float[Tensor, "text dim"]:
        """The last layer, beyond keys and values, for the first token of each text."""
        dim, (weight, bias) = self.weights.width, (layer.mixed.weight, layer.mixed.bias)
        k, v = self._heads(F.linear(x, weight[dim:], bias[dim:]), 2)
        first = x.index_select(0, edges[:-1].clamp(max=len(x) - 1))
        (q,) = self._heads(F.linear(first, weight[:dim], bias[:dim]), 1)
        singly = torch.arange(len(edges), device=x.device, dtype=torch.int32)
        return layer.after(first, attend(q, k, v, singly, edges, 1, most))

    def _heads(self, mixed: Float[Tensor, "token dims"], parts: int) -> tuple[Float[Tensor, "token head each"], ...]:
        heads = self.weights.heads
        return mixed.view(len(mixed), parts, heads, self.weights.width // heads).unbind(1)

    @cached_property
    def _last(self) -> Layer:
        return self.weights.last.to(self.weights.words.dtype)

    def _recorded(self, most: int) -> _Recorded:
        if most not in self._recordings:
            first = next(iter(self._recordings.values()), None)
            self._recordings[most] = _Recorded(self, most, first)
        return self._recordings[most]

    def _laid(self, work: Splice, span: slice) -> tuple[Packed, Ints]:
        """All texts of a span, and where they begin; the host does nothing for each token."""
        edges = np.concatenate([[0], np.cumsum(work.length[span])])
        (ends,) = work.ship(edges)
        token = torch.arange(int(edges[-1]), device=work.device)
        text = torch.searchsorted(ends[1:], token, right=True)
        place = token - ends[text]
        ids = work.at_places(np.arange(span.start, span.stop), text, place)
        second = torch.zeros_like(ids) if self.separator is None else _second(ids, self.separator, ends[text])
        return Packed(ids.int(), place.int(), second.int(), ends), edges


class _Recorded:
    """The forward of one batch as a recording over fixed memory, shared with `other`: they never run at once."""

    def __init__(self, model: PackedBert, most: int, other: _Recorded | None = None) -> None:
        device = model.weights.words.device
        self.held: Packed = Packed.blank(model.tokens, model.texts, device) if other is None else other.held
        aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(aside):  # kernels are chosen and memory is found before the recording
            for _ in range(2):
                model.forward(self.held, most)
        torch.cuda.current_stream(device).wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        pool = None if other is None else other.graph.pool()
        with torch.cuda.graph(self.graph, pool=pool, capture_error_mode="thread_local"):
            self.out = model.forward(self.held, most)

    def replay(self, batch: Packed) -> Float[Tensor, "text label"]:
        """The answer, until the next one; what an earlier batch left behind this one's texts is filling."""
        held = self.held
        for to, given in zip((held.ids, held.place, held.second), (batch.ids, batch.place, batch.second), strict=True):
            to[: len(given)].copy_(given)
        held.edges.copy_(batch.edges)
        self.graph.replay()
        return self.out


def attend(
    q: Float[Tensor, "query head each"],
    k: Float[Tensor, "token head each"],
    v: Float[Tensor, "token head each"],
    q_edges: Int[Tensor, " text_1"],
    k_edges: Int[Tensor, " text_1"],
    longest_q: int,
    longest_k: int,
) -> Float[Tensor, "query dim"]:
    """Attention within each text; what is given for filling means nothing."""
    from torch.nn.attention.varlen import varlen_attn

    seen = varlen_attn(q, k, v, q_edges, k_edges, longest_q, longest_k)
    assert isinstance(seen, Tensor)
    return seen.flatten(1)


def _second(ids: Int[Tensor, " token"], separator: int, start: Int[Tensor, " token"]) -> Int[Tensor, " token"]:
    """1 behind the first separator of each text, 0 up to and with it."""
    here = (ids == separator).long()
    before = here.cumsum(0) - here
    return (before - before[start]).clamp_(max=1)


def _edges(edges: Ints, parts: list[slice], texts: int) -> Ints:
    """For each batch where its texts begin, and for what is left of its room where the last one ends."""
    index = np.asarray([part.start for part in parts])[:, None] + np.arange(texts + 1)
    index = np.minimum(index, np.asarray([part.stop for part in parts])[:, None])
    return np.asarray(edges[index] - edges[index[:, :1]])


def batches(length: Ints, tokens: int, texts: int) -> Iterator[slice]:
    """Neighbours, at most so many tokens and texts together; a text longer than that is by itself."""
    ends = np.cumsum(length)
    begin = 0
    while begin < len(length):
        before = int(ends[begin - 1]) if begin else 0
        end = min(int(np.searchsorted(ends, before + tokens, side="right")), begin + texts)
        yield slice(begin, max(begin + 1, end))
        begin = max(begin + 1, end)
