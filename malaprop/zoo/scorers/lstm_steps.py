"""Strips: steps of an LSTM over fixed memory, which a GPU records once and replays with one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from malaprop.core.distinct import find_used
from malaprop.core.text import Ints
from malaprop.models.tokens.splice import Splice
from malaprop.zoo.scorers.edits import Edits

STEPS = 8  # in a strip
SIZES = (1024, 4096, 16_384)  # rows of a strip; what is left of a round goes into the smallest that holds it


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """The directions of an LSTM, one behind the other."""

    table: Float[Tensor, "way_vocab gates"]  # the input half of the gates
    weight: Float[Tensor, "way dim gates"]
    vocab: int

    @property
    def many(self) -> int:
        return len(self.weight)

    @property
    def dim(self) -> int:
        return self.weight.shape[1]

    @classmethod
    def of(cls, tables: Sequence[Tensor], weights: Sequence[Tensor]) -> Ways:
        """Stack directions whose cell gate is doubled (see LstmEdits), and halve that gate again."""
        dim = weights[0].shape[0]
        scale = weights[0].new_ones(4, dim)
        scale[2] = 0.5
        scale = scale.flatten()
        return cls(torch.cat([*tables]) * scale, torch.stack([*weights]) * scale, len(tables[0]))


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Hidden state, cell and maximum so far."""

    h: Float[Tensor, "*shape dim"]
    c: Float[Tensor, "*shape dim"]
    top: Float[Tensor, "*shape dim"]

    @classmethod
    def blank(cls, *shape: int, device: torch.device) -> States:
        h, c, top = torch.zeros(3, *shape, device=device)
        return cls(h, c, top.fill_(-torch.inf))

    def each(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.h, self.c, self.top


class Strip:
    """STEPS steps of `rows` rows in every direction; `seen` are the states after each of them."""

    def __init__(self, ways: Ways, rows: int, *, keep: bool = False) -> None:
        device, shape = ways.table.device, (ways.many, rows, ways.dim)
        self.ways, self.rows, self.keep = ways, rows, keep
        self.ids = torch.zeros(STEPS, ways.many * rows, dtype=torch.int64, device=device)
        self.left = torch.zeros(ways.many, rows, 1, dtype=torch.int64, device=device)  # steps that still count
        self.now = States.blank(*shape, device=device)
        self.seen = States.blank(STEPS if keep else 0, *shape, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None

    def advance(self) -> None:
        if self.ids.device.type == "cuda":
            self._graph = self._graph or self._recorded()
            self._graph.replay()
        else:
            self._advance()

    def _recorded(self) -> torch.cuda.CUDAGraph:
        held = [t.clone() for t in (*self.now.each(), self.left)]
        device = self.ids.device
        aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(aside):
            self._advance()
        torch.cuda.current_stream(device).wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._advance()
        for t, was in zip((*self.now.each(), self.left), held, strict=True):
            t.copy_(was)
        return graph

    def _advance(self) -> None:
        h, c, top = self.now.each()
        seen: list[tuple[Tensor, Tensor, Tensor]] = []
        for step in range(STEPS):
            taken = self.ways.table.index_select(0, self.ids[step])
            given = torch.bmm(h, self.ways.weight)
            h, c = (t.view_as(top) for t in cell(taken, given.flatten(0, 1), c.flatten(0, 1)))
            top = torch.where(self.left > step, torch.maximum(top, h), top)
            seen.append((h, c, top))
        for number, (to, last) in enumerate(zip(self.now.each(), (h, c, top), strict=True)):
            to.copy_(last)
            if self.keep:
                torch.stack([states[number] for states in seen], out=self.seen.each()[number])
        self.left -= STEPS


def cell(
    taken: Float[Tensor, "row gates"], given: Float[Tensor, "row gates"], c: Float[Tensor, "row dim"]
) -> tuple[Float[Tensor, "row dim"], Float[Tensor, "row dim"]]:
    """Take one step from both halves of the gates; return the hidden state and the cell after it."""
    if taken.is_cuda:
        h, c, _ = torch.ops.aten._thnn_fused_lstm_cell(taken, given, c)
        return h, c
    take, keep, fresh, show = (taken + given).chunk(4, 1)
    c = keep.sigmoid() * c + take.sigmoid() * fresh.tanh()
    return show.sigmoid() * c.tanh(), c


class LstmStrips:
    """Reads the variants of an LSTM's texts in both directions at once, a whole round in few strips.

    Strips have fixed sizes, so a row's numbers do not depend on its company.
    """

    def __init__(self, ways: Ways, *, unknown: int, sizes: Sequence[int] = SIZES) -> None:
        self.ways, self.unknown = ways, unknown
        self.reader = Strip(ways, sizes[0], keep=True)
        self.runners = [Strip(ways, size) for size in sizes]

    def tops(self, work: Splice, edits: Edits, near: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Tensor:
        """Return the maxima over time, directions side by side; variants that are not near are read as a whole."""
        out = torch.empty(work.count, self.ways.many, self.ways.dim, device=work.device)
        near_bases, _ = find_used(work.base[near], len(work.lengths))
        order = near_bases[np.argsort(-work.lengths[near_bases], kind="stable")]
        blocks = [order[at : at + self.reader.rows] for at in range(0, len(order), self.reader.rows)] or [order]
        place = np.full(len(work.lengths), -1)
        for number, bases in enumerate(blocks):
            place[:] = -1
            place[bases] = np.arange(len(bases))
            mine = near & (place[work.base] >= 0)
            chosen = np.flatnonzero(mine | ~near if number == 0 else mine)
            self._run(out, work, edits, chosen, near[chosen], place[work.base[chosen]], self._read(work, bases))
        return out.flatten(1)

    def _read(self, work: Splice, bases: Ints) -> States:
        """Return the bases' states after each number of tokens, [read, way, base, dim]; longest first."""
        sizes = np.minimum(work.lengths[bases], work.limit)
        rounds = -(-int(sizes[0]) // STEPS) if len(bases) else 0
        states = States.blank(rounds * STEPS + 1, *self.reader.now.h.shape, device=work.device)
        if not rounds:
            return states
        filled = np.zeros(self.reader.rows, np.int64)
        first, size = filled.copy(), filled
        first[: len(bases)], size[: len(bases)] = work.offset[bases], sizes
        offset, many = work.ship(first, size)
        step = torch.arange(rounds * STEPS, device=work.device)[:, None]
        ids = torch.stack(
            [
                self._tokens(work, offset + (many - 1 - step if way else step), step < many, way)
                for way in self._range()
            ],
            1,
        )
        self._start(self.reader, States.blank(*self.reader.now.h.shape, device=work.device), [many] * self.ways.many)
        for at in range(0, rounds * STEPS, STEPS):
            self.reader.ids.copy_(ids[at : at + STEPS].flatten(1))
            self.reader.advance()
            for to, seen in zip(states.each(), self.reader.seen.each(), strict=True):
                to[at + 1 : at + 1 + STEPS] = seen
        return states

    def _range(self) -> range:
        return range(self.ways.many)

    def _tokens(self, work: Splice, index: Tensor, inside: Tensor, way: int) -> Int[Tensor, "step row"]:
        return work.tokens[torch.where(inside, index, len(work.tokens) - 1)] + way * self.ways.vocab

    def _start(self, strip: Strip, states: States, left: Sequence[Int[Tensor, " row"]]) -> None:
        for to, given in zip(strip.now.each(), states.each(), strict=True):
            to.copy_(given)
        strip.left.copy_(torch.stack([*left])[..., None])

    def _run(
        self,
        out: Float[Tensor, "variant way dim"],
        work: Splice,
        edits: Edits,
        chosen: Ints,
        near: np.ndarray[tuple[int], np.dtype[np.bool_]],
        place: Ints,
        states: States,
    ) -> None:
        """Read the chosen variants on from their bases' states, or from nothing; each direction in its own order."""
        length = np.maximum(work.length[chosen], 1)
        whole = edits.new[chosen] + edits.old[chosen] == 0
        size, at, old = edits.size[chosen], edits.at[chosen], edits.old[chosen]
        kept = [np.where(near, np.where(whole, size, size - at - old if way else at), 0) for way in self._range()]
        orders = [np.argsort(keep - length, kind="stable") for keep in kept]
        begin = 0
        while begin < len(chosen):
            strip = next((s for s in self.runners if s.rows >= len(chosen) - begin), self.runners[-1])
            ways = []
            for order, keep in zip(orders, kept, strict=True):
                part = order[begin : begin + strip.rows]
                ways.append((chosen[part], keep[part], np.maximum(place[part], 0), length[part] - keep[part]))
            self._strip(out, work, strip, ways, states)
            begin += strip.rows

    def _strip(
        self,
        out: Float[Tensor, "variant way dim"],
        work: Splice,
        strip: Strip,
        ways: list[tuple[Ints, Ints, Ints, Ints]],  # variants, tokens read, base, steps
        states: States,
    ) -> None:
        count, most = len(ways[0][0]), max(int(steps.max()) for *_, steps in ways)
        rounds = -(-most // STEPS)
        ids = torch.zeros(rounds * STEPS, self.ways.many, strip.rows, dtype=torch.int64, device=work.device)
        left = torch.zeros(self.ways.many, strip.rows, dtype=torch.int64, device=work.device)
        indices = []
        for way, (variants, keep, base, steps) in enumerate(ways):
            index, read, from_base, many = work.ship(variants, keep, base, steps)
            indices.append(index)
            left[way, :count] = many
            ahead = self._ahead(work, variants, keep, steps, back=bool(way))
            ids[: ahead.shape[1], way, :count] = ahead.T
            ids[:, way] += way * self.ways.vocab
            for to, given in zip(strip.now.each(), states.each(), strict=True):
                to[way, :count] = given[read, way, from_base]
        strip.left.copy_(left[..., None])
        for at in range(0, rounds * STEPS, STEPS):
            strip.ids.copy_(ids[at : at + STEPS].flatten(1))
            strip.advance()
        for way, index in enumerate(indices):
            out[index, way] = strip.now.top[way, :count]

    def _ahead(self, work: Splice, variants: Ints, keep: Ints, steps: Ints, *, back: bool) -> Int[Tensor, "row step"]:
        """Return the tokens still to read; a text without tokens is read as one unknown word."""
        length = work.length[variants]
        if not steps.any():
            return torch.zeros(len(variants), 0, dtype=torch.int64, device=work.device)
        ids = work.gather(variants, length - 1 - keep if back else keep, length - keep, back=back)
        if not length.all():
            (empty,) = work.ship(np.asarray(length == 0, np.int64))
            ids = torch.where(empty[:, None] > 0, self.unknown, ids)
        return ids
