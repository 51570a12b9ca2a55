"""CnnEdits: a word CNN that computes again only the windows that an edit touches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.models.batches import batches, bounds_for
from malaprop.models.blocks.cnn import WordCNN
from malaprop.models.scorers.edits import Edits, blocks, shared
from malaprop.models.scorers.wordtable import WordTable
from malaprop.models.splice import Splice

_NONE = -torch.inf


@dataclass(frozen=True, slots=True, eq=False)
class _Bases:
    """Windows of some bases, before the relu; -inf where no window is."""

    ids: Int[Tensor, "base token"]
    windows: list[Float[Tensor, "base place filter"]]  # per width w: the window from token t on is at t + w - 1
    before: Float[Tensor, "base token_1 filters"]  # the largest that end before a token, filters of all widths
    after: Float[Tensor, "base token_1 filters"]  # the largest that begin at a token or later


@dataclass(frozen=True, eq=False, kw_only=True)
class CnnEdits:
    """Every word times every kernel column is a table, so that a window is a sum of rows.

    One token for one: the touched windows are the base's plus a difference of rows. Other edits: the windows around the
    edit are summed anew. All others come from running maxima from both ends of the base. The weights must not change
    once a text was scored.
    """

    model: WordCNN
    rows: int = 512  # variants at a time
    tokens: int = 2048  # of bases at a time: what is kept of them should stay in the cache

    def __post_init__(self) -> None:
        if len(self.model.below):
            raise SettingError("CnnEdits reads a CNN of one layer; use Plain for this one")

    @property
    def tables(self) -> list[Float[Tensor, "vocab width filter"]]:
        return [table.rows() for table in self._tables]

    @cached_property
    def _tables(self) -> list[WordTable]:
        return [WordTable(self.model.embedding, partial(_columns, conv)) for conv in self._convs]

    @cached_property
    def widths(self) -> list[int]:
        return [conv.kernel_size[0] for conv in self._convs]

    @property
    def _convs(self) -> list[nn.Conv1d]:
        return [conv for conv in self.model.convs if isinstance(conv, nn.Conv1d)]

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        least, edits = max(self.widths), Edits.of(work)
        near = shared(work, edits.fits & (np.minimum(edits.size, work.length) >= least))
        swap = near & (edits.old == 1) & (edits.new == 1)
        near &= swap | (edits.new + 2 * (least - 1) < work.length)
        out = torch.empty(work.count, self.model.head.out_features, device=work.device)
        more = 1 if work.device.type == "cpu" else 32
        rows, tokens = self.rows * more, self.tokens * more
        for bases, mine in blocks(work, np.flatnonzero(near), tokens):
            kept = self._read(work, bases)
            place = np.zeros(len(work.lengths), np.int64)
            place[bases] = np.arange(len(bases))
            for part in _chunks(mine[swap[mine]], rows):
                (index,) = work.ship(part)
                out[index] = self._swapped(work, edits, part, place[work.base[part]], kept)
            for part in _chunks(mine[~swap[mine]], rows):
                (index,) = work.ship(part)
                out[index] = self._around(work, edits, part, place[work.base[part]], kept)
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
        table: Float[Tensor, "vocab width filter"],
        ids: Int[Tensor, "batch token"],
        lengths: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch window filter"]:
        """All windows of one width, -inf where they leave the text."""
        width = table.shape[1]
        index = ids.unfold(1, width, 1) * width + torch.arange(width, device=ids.device)
        sums = F.embedding_bag(index.flatten(0, 1), table.flatten(0, 1), mode="sum").view(*index.shape[:2], -1)
        beyond = torch.arange(index.shape[1], device=ids.device)[None] > (lengths - width)[:, None]
        return sums.masked_fill_(beyond[..., None], _NONE)

    def _largest(
        self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch filters"]:
        ids = F.pad(ids, (0, max(0, max(self.widths) - ids.shape[1])))
        return torch.cat([self._windows(table, ids, lengths).amax(1) for table in self.tables], 1)

    def _read(self, work: Splice, bases: Ints) -> _Bases:
        size = np.minimum(work.lengths[bases], work.limit)
        first, many = (a[:, None] for a in work.ship(work.offset[bases], size))
        column = torch.arange(int(size.max()), device=work.device)[None]
        ids = work.tokens[torch.where(column < many, first + column, len(work.tokens) - 1)]
        count, filters = ids.shape[1], [table.shape[2] for table in self.tables]
        before, after = (torch.full((len(bases), count + 1, sum(filters)), _NONE, device=work.device) for _ in range(2))
        windows = []
        for table, width, (left, right) in zip(
            self.tables, self.widths, pairwise(np.cumsum([0, *filters]).tolist()), strict=True
        ):
            here = self._windows(table, ids, many[:, 0])
            before[:, width:, left:right] = here
            after[:, : count - width + 1, left:right] = here
            windows.append(F.pad(here, (0, 0, width - 1, width - 1), value=_NONE))
        return _Bases(ids, windows, _running(before), _running(after.flip(1)).flip(1))

    def _swapped(
        self, work: Splice, edits: Edits, part: Ints, place: Ints, kept: _Bases
    ) -> Float[Tensor, "variant label"]:
        """One token for one. What all variants at one place have in common is worked out once."""
        span = kept.before.shape[1]
        spots, which = np.unique(place * span + edits.at[part], return_inverse=True)
        base, at = work.ship(spots // span, spots % span)
        spot, source = work.ship(which, work.source[part])
        old, new = kept.ids[base, at], work.tokens[source]
        tops = []
        for table, windows in zip(self.tables, kept.windows, strict=True):
            width = table.shape[1]
            back = torch.arange(
                width - 1, -1, -1, device=work.device
            )  # the token is the k-th of the window k before it
            rest = windows[base[:, None], at[:, None] + back] - table[old]
            tops.append((table[new] + rest[spot]).amax(1))
        edge = torch.maximum(kept.before[base, at], kept.after[base, at + 1])
        return self._scores(torch.maximum(torch.cat(tops, 1), edge[spot]))

    def _around(
        self, work: Splice, edits: Edits, part: Ints, place: Ints, kept: _Bases
    ) -> Float[Tensor, "variant label"]:
        """Any stretch: its windows are those of the few tokens around it, read as a text of their own."""
        reach = max(self.widths) - 1
        at, old = edits.at[part], edits.old[part]
        first = np.maximum(at - reach, 0)
        size = np.minimum(at + edits.new[part] + reach, work.length[part]) - first
        base, left, right, lengths = work.ship(place, at, at + old, size)
        tops = self._largest(work.gather(part, first, size), lengths)
        edge = torch.maximum(kept.before[base, left], kept.after[base, right])
        return self._scores(torch.maximum(tops, edge))


def _columns(conv: nn.Conv1d, words: Float[Tensor, "word dim"]) -> Float[Tensor, "word width filter"]:
    table = torch.einsum("vd,fdk->vkf", words, conv.weight).contiguous()
    if conv.bias is not None:
        table[:, 0] += conv.bias
    return table


def _chunks(index: Ints, rows: int) -> list[Ints]:
    return [index[begin : begin + rows] for begin in range(0, len(index), rows)]


def _running(values: Float[Tensor, "base place filter"]) -> Float[Tensor, "base place filter"]:
    """The largest so far, place by place."""
    if values.is_cuda:
        return values.cummax(1).values
    for now, last in zip(values.unbind(1)[1:], values.unbind(1), strict=False):
        torch.maximum(now, last, out=now)  # a place at a time is ten times faster here than cummax, which wants indices
    return values
