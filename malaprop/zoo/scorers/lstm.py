"""LstmEdits: an LSTM that reads on from the state before an edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.models.tokens.splice import Splice
from malaprop.models.tokens.vocab import UNK
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.scorers.edits import Edits, WordTable, blocks, keep_large_groups
from malaprop.zoo.scorers.lstm_steps import LstmStrips, Ways


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """One direction of an LSTM; a table has the input half of the gates for each word.

    The cell gate's weights are doubled: tanh(x) = 2 sigmoid(2x) - 1, so that one sigmoid serves all four gates.
    """

    table: Float[Tensor, "vocab gates"]
    weight: Float[Tensor, "dim gates"]
    back: bool

    def step(
        self, ids: Int[Tensor, " batch"], h: Float[Tensor, "batch dim"], c: Float[Tensor, "batch dim"]
    ) -> tuple[Float[Tensor, "batch dim"], Float[Tensor, "batch dim"]]:
        gates = self.table.index_select(0, ids).addmm_(h, self.weight).sigmoid_()
        take, keep, cell, show = gates.chunk(4, 1)
        c = (keep * c).addcmul_(take, cell.mul_(2).sub_(1))
        return c.tanh().mul_(show), c


@dataclass(frozen=True, slots=True, eq=False)
class _States:
    """States of bases after each number of tokens: hidden state, cell, and the maximum so far."""

    h: Float[Tensor, "read base dim"]
    c: Float[Tensor, "read base dim"]
    top: Float[Tensor, "read base dim"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LstmEdits:
    """Scores edits on an LSTM: reads on from the state before the edit, backwards from that after it.

    Rows leave the batch as they end.

    A text without tokens is read as one token `unknown`. The weights must not change once a text was scored.
    """

    model: WordLSTM
    unknown: int = UNK
    rows: int = 512  # variants at a time
    tokens: int = 1 << 14  # of bases at a time; three vectors are kept for each
    _last: dict[bool, tuple[dict[bytes, int], _States]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.model.above) or self.model.lstm.num_layers != 1 or self.model.lstm.proj_size:
            raise SettingError("LstmEdits reads an LSTM of one layer without projection; use Plain for this one")

    @property
    def ways(self) -> list[_Way]:
        return [_Way(table.rows(), weight, back) for table, weight, back in self._ways]

    @cached_property
    def _ways(self) -> list[tuple[WordTable, Float[Tensor, "dim gates"], bool]]:
        lstm, embedding = self.model.lstm, self.model.embedding
        scale = self.model.head.weight.new_ones(4, lstm.hidden_size)
        scale[2] = 2
        scale = scale.flatten()[:, None]
        out = []
        for end in ("", "_reverse")[: 1 + lstm.bidirectional]:
            inner, outer = (getattr(lstm, f"weight_{kind}_l0{end}") * scale for kind in ("ih", "hh"))
            bias = sum(getattr(lstm, f"bias_{kind}_l0{end}") for kind in ("ih", "hh")) if lstm.bias else 0 * scale[:, 0]
            gates = partial(F.linear, weight=inner, bias=bias * scale[:, 0])
            out.append((WordTable(embedding, gates), outer.T.contiguous(), bool(end)))
        return out

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        edits = Edits.of(work)
        near = keep_large_groups(work, edits.fits)
        if work.device.type == "cuda" and isinstance(self.model.embedding, nn.Embedding):
            return self._scores(self._strips.tops(work, edits, near))
        dim = self.model.lstm.hidden_size
        ways = self.ways
        tops = torch.empty(work.count, dim * len(ways), device=work.device)
        for number, way in enumerate(ways):
            keep = np.where(
                edits.new + edits.old == 0, edits.size, edits.size - edits.at - edits.old if way.back else edits.at
            )
            out = tops[:, number * dim : (number + 1) * dim]
            for bases, mine in blocks(work, np.flatnonzero(near), self.tokens * _more(work)):
                place = np.zeros(len(work.lengths), np.int64)
                states, place[bases] = self._known(way, work, bases)
                self._run(out, way, work, mine, keep[mine], place[work.base[mine]], states)
            rest = np.flatnonzero(~near)
            none = np.zeros_like(rest)
            self._run(out, way, work, rest, none, none, self._blank(1, 1, work))
        return self._scores(tops)

    def _scores(self, tops: Float[Tensor, "variant dims"]) -> Float[Tensor, "variant label"]:
        logits: Tensor = self.model.head(tops)
        return logits

    @cached_property
    def _strips(self) -> LstmStrips:
        """Return the scorer for a GPU, where the number of kernels bounds the time of a step."""
        ways = Ways.of([way.table for way in self.ways], [way.weight for way in self.ways])
        return LstmStrips(ways, unknown=self.unknown)

    def _blank(self, read: int, bases: int, work: Splice) -> _States:
        h, c, top = torch.zeros(3, read, bases, self.model.lstm.hidden_size, device=work.device)
        top[0] = -torch.inf
        return _States(h, c, top)

    def _known(self, way: _Way, work: Splice, bases: Ints) -> tuple[_States, Ints]:
        """Return the states of the bases, and where each base has its own.

        Those of the last call serve again where they hold all of these bases: a population's texts are edits of one
        original, round after round.
        """
        if not isinstance(self.model.embedding, nn.Embedding):  # whose numbers may come to stand for other words
            return self._read(way, work, bases), np.arange(len(bases))
        tokens, first = work.tokens.numpy(), work.offset[bases]
        ends = first + np.minimum(work.lengths[bases], work.limit)
        keys = [tokens[a:b].tobytes() for a, b in zip(first.tolist(), ends.tolist(), strict=True)]
        held = self._last.get(way.back)
        if held is None or any(key not in held[0] for key in keys):
            states = self._read(way, work, bases)
            held = self._last[way.back] = ({key: i for i, key in enumerate(keys)}, states)
        return held[1], np.fromiter(map(held[0].__getitem__, keys), np.int64, len(keys))

    def _read(self, way: _Way, work: Splice, bases: Ints) -> _States:
        """Return the states of bases, which are sorted by falling length."""
        sizes = np.minimum(work.lengths[bases], work.limit)
        offset, size = (a[:, None] for a in work.ship(work.offset[bases], sizes))
        column = torch.arange(max(1, int(sizes[0])), device=work.device)[None]
        place = size - 1 - column if way.back else column
        ids = work.tokens[torch.where(column < size, offset + place, len(work.tokens) - 1)].T.contiguous()
        states = self._blank(len(ids) + 1, len(bases), work)
        for t, n in enumerate(_active(sizes)):
            h, c = way.step(ids[t, :n], states.h[t, :n], states.c[t, :n])
            states.h[t + 1, :n], states.c[t + 1, :n] = h, c
            torch.maximum(states.top[t, :n], h, out=states.top[t + 1, :n])
        return states

    def _run(
        self,
        out: Float[Tensor, "variant dim"],
        way: _Way,
        work: Splice,
        chosen: Ints,
        keep: Ints,
        place: Ints,
        states: _States,
    ) -> None:
        """Read the chosen variants on from the state of base `place` after `keep` tokens; the maxima go to `out`."""
        steps = np.maximum(work.length[chosen], 1) - keep
        order = np.argsort(-steps, kind="stable")
        rows = self.rows * _more(work)
        for begin in range(0, len(order), rows):
            part = order[begin : begin + rows]
            index, read, base = work.ship(chosen[part], keep[part], place[part])
            h, c, top = (state[read, base] for state in (states.h, states.c, states.top))
            ids = self._ahead(way, work, chosen[part], keep[part])
            for t, n in enumerate(_active(steps[part])):
                h, c = way.step(ids[t, :n], h[:n], c[:n])
                torch.maximum(top[:n], h, out=top[:n])
            out[index] = top

    def _ahead(self, way: _Way, work: Splice, chosen: Ints, keep: Ints) -> Int[Tensor, "step variant"]:
        """Return the tokens that each variant has still to read."""
        length = work.length[chosen]
        ids = work.gather(chosen, length - 1 - keep if way.back else keep, length - keep, back=way.back)
        if not length.all():
            (empty,) = work.ship(np.asarray(length == 0, np.int64))
            ids = torch.where(empty[:, None] > 0, self.unknown, ids)
        return ids.T.contiguous()


def _more(work: Splice) -> int:
    """Return how many times more rows a GPU takes: it has no cache to leave, and kernels bound its steps."""
    return 1 if work.device.type == "cpu" else 64


def _active(steps: Ints) -> list[int]:
    """Return how many rows are still being read at each step, of rows sorted by falling number of steps."""
    most = int(steps[0]) if len(steps) else 0
    active: list[int] = np.searchsorted(-steps, -np.arange(most), side="left").tolist()
    return active
