"""Splice: a round's variants as tokens. Each is its base's tokens with one stretch replaced by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from malaprop.core.distinct import find_used
from malaprop.core.pool import Pool
from malaprop.core.text import Ints
from malaprop.models.tokens.pieces import Pieces, runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The special tokens around a text, and the part of its row that stays where it has more than `limit` tokens.

    Special tokens always stay. Of the others the first are kept, or with `left` (cut off at the left) the last.
    """

    limit: int
    head: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    left: bool = False

    @property
    def turn(self) -> int:
        """Return how many tokens of a row over the limit come from its beginning; the others come from its end."""
        return len(self.head) if self.left else max(0, self.limit - len(self.tail))

    def row(self, tokens: Sequence[int] | Ints) -> list[int]:
        """Return the whole row that a model reads."""
        row = [*self.head, *tokens, *self.tail]
        return row if len(row) <= self.limit else [*row[: self.turn], *row[len(row) - self.limit + self.turn :]]


def ship(device: torch.device, *arrays: Ints) -> tuple[Tensor, ...]:
    """Copy arrays of one length to the device, in one transfer."""
    packed = torch.from_numpy(np.stack(arrays))
    if device.type == "cuda":
        packed = packed.pin_memory().to(device, non_blocking=True)
    return packed.unbind(0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Splice:
    """Variant v is its base with the `old` tokens from `at` on replaced by the `new` tokens that begin at `source`.

    `tokens` (on the device) holds the tokens of all bases, then the new ones of all variants; the rest is on the host.
    A variant without an edit has old = new = 0. Of a row longer than `limit` the first `turn` tokens are read, and
    then its last ones.
    """

    tokens: Int[Tensor, " token"]
    offset: Ints  # [base] its first token
    lengths: Ints  # [base] its tokens, before any cut
    base: Ints  # [variant]
    at: Ints  # [variant]
    old: Ints  # [variant]
    new: Ints  # [variant]
    source: Ints  # [variant]
    length: Ints  # [variant] its tokens, after the cut
    limit: int
    turn: int

    @property
    def count(self) -> int:
        return len(self.base)

    @property
    def device(self) -> torch.device:
        return self.tokens.device

    @property
    def whole(self) -> Ints:
        """Return the number of tokens of each variant, before any cut."""
        return self.lengths[self.base] - self.old + self.new

    def ship(self, *arrays: Ints) -> tuple[Tensor, ...]:
        return ship(self.device, *arrays)

    def rows(self, chosen: Ints) -> tuple[Int[Tensor, "batch token"], Int[Tensor, " batch"]]:
        """Return whole texts, padded to the longest (at least one column), and their lengths."""
        size = self.length[chosen]
        return self.gather(chosen, np.zeros_like(size), size), self.ship(size)[0]

    def gather(self, chosen: Ints, first: Ints, size: Ints, *, back: bool = False) -> Int[Tensor, "batch token"]:
        """Return `size` tokens of each chosen variant from `first` on (or back from it), padded to the longest."""
        begin, many = (a[:, None] for a in self.ship(first, size))
        column = torch.arange(max(1, int(size.max())), device=self.device)[None]
        index = self._index(chosen, None, begin - column if back else begin + column)
        return self.tokens[torch.where(column < many, index, len(self.tokens) - 1)]

    def at_places(
        self, chosen: Ints, row: Int[Tensor, " token"], place: Int[Tensor, " token"]
    ) -> Int[Tensor, " token"]:
        """Return one token for each pair of a row of `chosen` and a place in it."""
        return self.tokens[self._index(chosen, row, place)]

    def _index(self, chosen: Ints, row: Int[Tensor, " token"] | None, place: Tensor) -> Tensor:
        """Return where in `tokens` each place's token lies; `row` says in which of `chosen`, else they are its rows."""
        at, new, offset = self.at[chosen], self.new[chosen], self.offset[self.base[chosen]]
        over = np.maximum(self.lengths[self.base[chosen]] - self.old[chosen] + new - self.limit, 0)
        shipped = self.ship(at, at + new, offset, self.source[chosen] - at, offset + self.old[chosen] - new, over)
        edge, end, left, inner, right, leap = (a[:, None] if row is None else a[row] for a in shipped)
        if self.turn < self.limit and over.any():
            place = place + torch.where(place >= self.turn, leap, 0)
        return place + torch.where(place < edge, left, torch.where(place < end, inner, right))

    @classmethod
    def of_rows(
        cls,
        rows: Sequence[Sequence[int]],
        *,
        limit: int,
        head: Sequence[int] = (),
        tail: Sequence[int] = (),
        left: bool = False,
        pad: int = 0,
        device: torch.device | str = "cpu",
    ) -> Splice:
        """Wrap token rows, each a base with no edit."""
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        body = np.fromiter((token for row in rows for token in row), np.int64, int(sizes.sum()))
        base = np.arange(len(rows))
        none = np.zeros_like(base)
        frame = Frame(limit=limit, head=(*head,), tail=(*tail,), left=left)
        return _assemble(body, sizes, base, (none, none, none), none[:0], frame, pad, device)


def _assemble(
    body: Ints,
    sizes: Ints,
    base: Ints,
    edit: tuple[Ints, Ints, Ints],
    fresh: Ints,
    frame: Frame,
    pad: int,
    device: torch.device | str,
) -> Splice:
    """Set head and tail around every base and put everything in one flat array on the device."""
    (at, old, new), head, tail = edit, frame.head, frame.tail
    lengths = sizes + len(head) + len(tail)
    offset = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    flat = np.empty(total + len(fresh) + 1, np.int64)
    for i, token in enumerate(head):
        flat[offset + i] = token
    for i, token in enumerate(tail):
        flat[offset + lengths - len(tail) + i] = token
    flat[runs(offset + len(head), sizes)] = body
    flat[total : total + len(fresh)] = fresh
    flat[-1] = pad  # so that it can be gathered like any other
    return Splice(
        tokens=ship(torch.device(device), flat)[0],
        offset=offset,
        lengths=lengths,
        base=base,
        at=at + len(head),
        old=old,
        new=new,
        source=total + np.cumsum(new) - new,
        length=np.minimum(lengths[base] - old + new, frame.limit),
        limit=frame.limit,
        turn=frame.turn,
    )


def splice(
    pool: Pool,
    wanted: Ints,
    pieces: Pieces,
    frame: Frame,
    *,
    pad: int = 0,
    device: torch.device | str = "cpu",
) -> Splice:
    """Splice the wanted variants of a pool; the work grows with bases and edits, not with the variants' tokens."""
    pieces.grow()
    used, base = find_used(pool.base[wanted], len(pool.bases))
    many = pool.lengths[used]
    begin = np.cumsum(many) - many  # [base] its first part
    parts = pool.parts[runs(pool.offset[used], many)]
    edge = np.concatenate([[0], np.cumsum(pieces.size[parts])])  # [part] its first token in the body of all bases
    body = pieces.tokens(parts)
    edited, place, span, stretch = _stretches(pool, wanted, parts, begin[base])
    at, old, new = np.zeros((3, len(wanted)), np.int64)
    at[edited] = edge[place] - edge[begin[base[edited]]]
    old[edited] = edge[place + span] - edge[place]
    fresh = pieces.size[stretch]
    new[edited] = fresh if pool.single else np.diff(np.concatenate([[0], np.cumsum(fresh)])[np.cumsum(span)], prepend=0)
    sizes = edge[begin + many] - edge[begin]
    return _assemble(body, sizes, base, (at, old, new), pieces.tokens(stretch), frame, pad, device)


def _stretches(pool: Pool, wanted: Ints, parts: Ints, begin: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the edited variants, the first part each replaces, how many, and the parts that come instead.

    Several edits are one stretch from the first to the last, with what lies between copied from the base.
    """
    if pool.single:
        edited = np.arange(len(wanted))
        return edited, begin + 2 * pool.slot[wanted] + 1, np.ones_like(edited), pool.word[wanted]
    order = np.argsort(pool.row, kind="stable")
    low, high = (np.searchsorted(pool.row[order], wanted, side=side) for side in ("left", "right"))
    edited = np.flatnonzero(high > low)
    low, counts = low[edited], (high - low)[edited]
    if not len(edited):
        return edited, edited, edited, edited
    edits = order[runs(low, counts)]
    mine = np.repeat(np.arange(len(edited)), counts)
    place = begin[edited][mine] + 2 * pool.slot[edits] + 1
    firsts = np.cumsum(counts) - counts
    first, last = np.minimum.reduceat(place, firsts), np.maximum.reduceat(place, firsts)
    span = last - first + 1
    stretch = parts[runs(first, span)]
    stretch[(np.cumsum(span) - span - first)[mine] + place] = pool.word[edits]
    return edited, first, span, stretch
