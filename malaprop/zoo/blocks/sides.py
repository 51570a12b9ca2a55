"""Pairs: one row of tokens with a separator in it, taken apart into its two sides and put together again."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from malaprop.models.padded_rows import within
from malaprop.models.tokens.vocab import SEP


class PairSide(NamedTuple):
    """Columns of the row that hold this side's tokens; one past the last column stands for nothing.

    An empty side has one token that is nothing.
    """

    columns: Int[Tensor, "batch some"]
    lengths: Int[Tensor, " batch"]

    def of(self, vectors: Float[Tensor, "batch token dim"]) -> Float[Tensor, "batch some dim"]:
        return functional.pad(vectors, (0, 0, 0, 1)).gather(1, self._index(vectors.shape[2]))

    def back(self, states: Float[Tensor, "batch some dim"], width: int) -> Float[Tensor, "batch token dim"]:
        """This side's vectors where its tokens stand in the row, zeros elsewhere."""
        room = states.new_zeros(len(states), width + 1, states.shape[2])
        return room.scatter(1, self._index(states.shape[2]), states)[:, :width]

    def _index(self, dim: int) -> Int[Tensor, "batch some dim"]:
        return self.columns[..., None].expand(-1, -1, dim)


def sides(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> tuple[PairSide, PairSide]:
    """What stands before the first separator and what behind; without one the second side is empty."""
    width = ids.shape[1]
    inside = within(lengths, width)
    before = (((ids == SEP) & inside).cumsum(1) == 0) & inside
    first = before.sum(1)
    second = (lengths - first - 1).clamp(min=0)
    return _side(torch.zeros_like(first), first, width), _side(first + 1, second, width)


def _side(begin: Int[Tensor, " batch"], sizes: Int[Tensor, " batch"], width: int) -> PairSide:
    most = max(1, int(sizes.max())) if len(sizes) else 1
    place = torch.arange(most, device=sizes.device)
    return PairSide(torch.where(place < sizes[:, None], begin[:, None] + place, width), sizes.clamp(min=1))
