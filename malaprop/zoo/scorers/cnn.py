"""CnnEdits: a word CNN that computes again only the windows that an edit touches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from malaprop.core.distinct import find_used
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.models.tokens.batches import Bounds, batches, bounds_for
from malaprop.models.tokens.splice import Splice
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.scorers.edits import Edits, WordTable, blocks, keep_large_groups

_NONE = -torch.inf


@dataclass(frozen=True, slots=True, eq=False)
class _Bases:
    """Windows of some bases, before the relu; -inf where there is no window."""

    windows: list[Float[Tensor, "base place filter"]]  # per width w: the window from token t on is at t + w - 1
    before: Float[Tensor, "base token_1 filters"]  # the largest that end before a token, filters of all widths
    after: Float[Tensor, "base token_1 filters"]  # the largest that begin at a token or later


@dataclass(frozen=True, slots=True, eq=False)
class _Spots:
    """Places where one token replaces another, with the values that all variants at one place share."""

    rest: Float[Tensor, "spot column filter"]  # the windows over the place, less the token that stood there
    edge: Float[Tensor, "spot filters"]  # the largest of all other windows


@dataclass(frozen=True, eq=False, kw_only=True)
class CnnEdits:
    """Scores edits on a word CNN by a table of every word times every kernel column: a window is a sum of rows.

    One token for one: the touched windows are the base's plus a difference of rows. Other edits: the windows around the
    edit are summed anew. All others come from running maxima from both ends of the base. The weights must not change
    once a text was scored.
    """

    model: WordCNN
    rows: int = 256  # variants at a time
    tokens: int = 2048  # of bases at a time: what is kept of them should stay in the cache

    def __post_init__(self) -> None:
        if len(self.model.below):
            raise SettingError("CnnEdits reads a CNN of one layer; use Plain for this one")

    @property
    def table(self) -> Float[Tensor, "vocab column filter"]:
        """Return each word times the columns of all kernels, one kernel after another."""
        return self._table.rows()

    @cached_property
    def _table(self) -> WordTable:
        return WordTable(self.model.embedding, partial(_columns, self._convs))

    @cached_property
    def widths(self) -> list[int]:
        return [conv.kernel_size[0] for conv in self._convs]

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """Return where each kernel's columns lie."""
        return list(pairwise([0, *accumulate(self.widths)]))

    @property
    def _convs(self) -> list[nn.Conv1d]:
        return [conv for conv in self.model.convs if isinstance(conv, nn.Conv1d)]

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        least, edits = max(self.widths), Edits.of(work)
        near = keep_large_groups(work, edits.fits & (np.minimum(edits.size, work.length) >= least))
        swap = near & (edits.old == 1) & (edits.new == 1)
        near &= swap | (edits.new + 2 * (least - 1) < work.length)
        out = torch.empty(work.count, self.model.head.out_features, device=work.device)
        more = 1 if work.device.type == "cpu" else 32
        rows, tokens, table = self.rows * more, self.tokens * more, self.table
        for bases, mine in blocks(work, np.flatnonzero(near), tokens):
            place = np.zeros(len(work.lengths), np.int64)
            place[bases] = np.arange(len(bases))
            swaps, others = mine[swap[mine]], mine[~swap[mine]]
            spots, which = _spots(place[work.base[swaps]], edits.at[swaps])
            kept = self._read(work, bases, table) if len(others) or len(spots[0]) > 2 * len(bases) else None
            if len(swaps):
                common = self._alone(work, bases, spots, table) if kept is None else self._cut(work, bases, spots, kept)
                for part in _chunks(np.arange(len(swaps)), rows):
                    index, spot, source = work.ship(swaps[part], which[part], work.source[swaps[part]])
                    out[index] = self._swapped(table.index_select(0, work.tokens[source]), spot, common)
            _, size = self._reached(work, edits, others)
            for part in batches(size, Bounds(rows=rows, tokens=2 * tokens, small=tokens)):
                assert kept is not None
                (index,) = work.ship(others[part])
                out[index] = self._around(work, edits, others[part], place[work.base[others[part]]], kept)
        rest = np.flatnonzero(~near)
        for part in batches(work.length[rest], bounds_for(work.device, rows=self.rows)):
            (index,) = work.ship(rest[part])
            ids, lengths = work.rows(rest[part])
            out[index] = self._scores(self._largest(ids, lengths.clamp(min=least)))
        return out

    def _scores(self, tops: Float[Tensor, "batch filters"]) -> Float[Tensor, "batch label"]:
        logits: Tensor = self.model.head(tops.relu_())
        return logits

    def _windows(
        self,
        table: Float[Tensor, "vocab column filter"],
        number: int,
        ids: Int[Tensor, "batch token"],
        lengths: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch window filter"]:
        """Return all windows of one width, -inf where they leave the text."""
        first, end = self._spans[number]
        width = end - first
        index = ids.unfold(1, width, 1) * table.shape[1] + torch.arange(first, end, device=ids.device)
        sums = F.embedding_bag(index.flatten(0, 1), table.flatten(0, 1), mode="sum").view(*index.shape[:2], -1)
        sure = 0 if ids.is_cuda else max(0, int(lengths.min()) - width + 1)  # windows that no text of these ends before
        beyond = torch.arange(sure, index.shape[1], device=ids.device)[None] > (lengths - width)[:, None]
        sums[:, sure:].masked_fill_(beyond[..., None], _NONE)
        return sums

    def _largest(
        self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch filters"]:
        ids, table = F.pad(ids, (0, max(0, max(self.widths) - ids.shape[1]))), self.table
        return torch.cat([self._windows(table, i, ids, lengths).amax(1) for i in range(len(self.widths))], 1)

    def _read(self, work: Splice, bases: Ints, table: Float[Tensor, "vocab column filter"]) -> _Bases:
        ids, sizes = _tokens(work, bases)
        count, filters = ids.shape[1], table.shape[2]
        shape = (len(bases), count + 1, filters * len(self.widths))
        before, after = (torch.full(shape, _NONE, device=work.device) for _ in range(2))
        windows = []
        for number, width in enumerate(self.widths):
            here = self._windows(table, number, ids, sizes)
            mine = slice(number * filters, (number + 1) * filters)
            before[:, width:, mine] = here
            after[:, : count - width + 1, mine] = here
            windows.append(F.pad(here, (0, 0, width - 1, width - 1), value=_NONE))
        return _Bases(windows, _running(before), _running(after, back=True))

    def _cut(self, work: Splice, bases: Ints, spots: tuple[Ints, Ints], kept: _Bases) -> _Spots:
        """Return the values that variants at one spot share, from running maxima over their bases."""
        base, at, place = work.ship(*spots, work.offset[bases[spots[0]]] + spots[1])
        rest = self.table.index_select(0, work.tokens[place]).neg_()
        for (first, end), windows in zip(self._spans, kept.windows, strict=True):
            back = torch.arange(end - first - 1, -1, -1, device=work.device)  # the k-th token of the window k before it
            rest[:, first:end] += windows[base[:, None], at[:, None] + back]
        return _Spots(rest, torch.maximum(kept.before[base, at], kept.after[base, at + 1]))

    def _alone(
        self, work: Splice, bases: Ints, spots: tuple[Ints, Ints], table: Float[Tensor, "vocab column filter"]
    ) -> _Spots:
        """Return the same for bases with few spots, by going through the base's other windows once for each."""
        (at,) = work.ship(spots[1])
        ids, sizes = _tokens(work, bases[spots[0]])
        row = torch.arange(len(at), device=work.device)[:, None]
        rest = table.index_select(0, ids[row[:, 0], at]).neg_()
        edge = []
        for number, (first, end) in enumerate(self._spans):
            here = self._windows(table, number, ids, sizes)
            touched = at[:, None] - torch.arange(end - first, device=work.device)
            inside = touched.clamp(0, here.shape[1] - 1)  # beyond an end it is that end's window, which is touched too
            mine = here[row, inside]
            rest[:, first:end] += mine.masked_fill_((inside != touched)[..., None], _NONE)
            here[row, inside] = _NONE
            edge.append(here.amax(1))
        return _Spots(rest, torch.cat(edge, 1))

    def _swapped(
        self, fresh: Float[Tensor, "variant column filter"], spot: Int[Tensor, " variant"], common: _Spots
    ) -> Float[Tensor, "variant label"]:
        """Return the logits of one-token swaps from the new tokens' rows of the table, which it overwrites."""
        fresh += common.rest.index_select(0, spot)
        tops = common.edge.index_select(0, spot)
        for mine, (first, end) in zip(tops.chunk(len(self.widths), 1), self._spans, strict=True):
            for column in fresh[:, first:end].unbind(1):
                torch.maximum(mine, column, out=mine)
        return self._scores(tops)

    def _reached(self, work: Splice, edits: Edits, part: Ints) -> tuple[Ints, Ints]:
        """Return where the tokens begin whose windows an edit touches, and how many there are."""
        reach, at = max(self.widths) - 1, edits.at[part]
        first = np.maximum(at - reach, 0)
        return first, np.minimum(at + edits.new[part] + reach, work.length[part]) - first

    def _around(
        self, work: Splice, edits: Edits, part: Ints, place: Ints, kept: _Bases
    ) -> Float[Tensor, "variant label"]:
        """Return the logits of any edit: its windows are those of the tokens around it, read as a text."""
        at, old = edits.at[part], edits.old[part]
        first, size = self._reached(work, edits, part)
        base, left, right, lengths = work.ship(place, at, at + old, size)
        tops = self._largest(work.gather(part, first, size), lengths)
        edge = torch.maximum(kept.before[base, left], kept.after[base, right])
        return self._scores(torch.maximum(tops, edge))


def _columns(convs: list[nn.Conv1d], words: Float[Tensor, "word dim"]) -> Float[Tensor, "word column filter"]:
    table = torch.cat([torch.einsum("vd,fdk->vkf", words, conv.weight) for conv in convs], 1)
    first = 0
    for conv in convs:
        if conv.bias is not None:
            table[:, first] += conv.bias
        first += conv.kernel_size[0]
    return table


def _tokens(work: Splice, bases: Ints) -> tuple[Int[Tensor, "base token"], Int[Tensor, " base"]]:
    size = np.minimum(work.lengths[bases], work.limit)
    first, many = work.ship(work.offset[bases], size)
    column = torch.arange(int(size.max()), device=work.device)[None]
    return work.tokens[torch.where(column < many[:, None], first[:, None] + column, len(work.tokens) - 1)], many


def _spots(base: Ints, at: Ints) -> tuple[tuple[Ints, Ints], Ints]:
    """Return the distinct pairs, and which of them each pair is."""
    span = int(at.max(initial=0)) + 1
    found, which = find_used(base * span + at, (int(base.max(initial=0)) + 1) * span)
    return (found // span, found % span), which


def _chunks(index: Ints, rows: int) -> list[Ints]:
    return [index[begin : begin + rows] for begin in range(0, len(index), rows)]


def _running(values: Float[Tensor, "base place filter"], *, back: bool = False) -> Float[Tensor, "base place filter"]:
    """Return the running maximum, place by place, from the first on or back from the last."""
    if values.is_cuda or len(values) == 1:
        return values.flip(1).cummax(1).values.flip(1) if back else values.cummax(1).values
    places = values.unbind(1)[:: -1 if back else 1]
    for now, last in zip(places[1:], places, strict=False):
        torch.maximum(now, last, out=now)  # of several bases quicker than cummax, which wants indices
    return values
