"""Rows of tokens of different lengths: padded, with masks and poolings that never read the padding; or flat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from malaprop.core.text import Ints
from malaprop.models.tokens.vocab import UNK


def fill_empty_rows(
    ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"], empty: int = UNK
) -> tuple[Int[Tensor, "batch some"], Int[Tensor, " batch"]]:
    """Return the same rows, but a text without a token gets the one token `empty`."""
    if ids.shape[1] == 0:
        ids = ids.new_zeros(len(ids), 1)
    first = torch.arange(ids.shape[1], device=ids.device) == 0
    return torch.where((lengths == 0)[:, None] & first, empty, ids), lengths.clamp(min=1)


def within(lengths: Int[Tensor, " batch"], width: int) -> Bool[Tensor, "batch token"]:
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def recur(
    lstm: nn.LSTM, x: Float[Tensor, "batch token dim"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch token hidden"]:
    """Return the LSTM's states of each text, read within its own length in each direction; zeros beyond."""
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    states: Tensor = pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=x.shape[1])[0]
    return states


def last(states: Float[Tensor, "batch token dim"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch dim"]:
    return states[torch.arange(len(states), device=states.device), lengths - 1]


def mean(states: Float[Tensor, "batch token dim"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch dim"]:
    """Return the mean state over the tokens of each text."""
    inside = within(lengths, states.shape[1])
    return (states * inside[..., None]).sum(1) / lengths[:, None]


def largest(states: Float[Tensor, "batch token dim"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch dim"]:
    """Return the maximum of each state over the tokens of each text."""
    return states.masked_fill(~within(lengths, states.shape[1])[..., None], -torch.inf).amax(1)


def strongest(
    conv: nn.Module, x: Float[Tensor, "batch dim token"], ends: Int[Tensor, " batch"]
) -> Float[Tensor, "batch filter"]:
    """Return the maximum of each filter over windows that end by `ends`; each text needs at least one."""
    windows: Tensor = conv(x)
    width = x.shape[2] - windows.shape[2] + 1
    beyond = ~within(ends - width + 1, windows.shape[2])
    return windows.masked_fill(beyond[:, None], -torch.inf).amax(2)


# --- rows of different lengths in one flat array, on the host or gathered on a device


@dataclass(frozen=True, slots=True, eq=False)
class Ragged(Sequence[Sequence[int]]):
    """Row i is `flat[start[i] : start[i] + size[i]]`."""

    flat: Ints
    start: Ints
    size: Ints

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        if isinstance(rows, Ragged):
            return rows
        size = np.fromiter(map(len, rows), np.int64, len(rows))
        flat = np.fromiter(chain.from_iterable(rows), np.int64, int(size.sum()))
        return cls(flat, np.cumsum(size) - size, size)

    def cut(self, limit: int) -> Ragged:
        """Return the same rows, none longer than `limit`."""
        return Ragged(self.flat, self.start, np.minimum(self.size, limit))

    def capped(self, known: int, other: int) -> Ragged:
        """Return the same rows with `other` for every number from `known` on."""
        return Ragged(np.where(self.flat < known, self.flat, other), self.start, self.size)

    def __len__(self) -> int:
        return len(self.size)

    @overload
    def __getitem__(self, at: int) -> list[int]: ...

    @overload
    def __getitem__(self, at: slice) -> list[Sequence[int]]: ...

    def __getitem__(self, at: int | slice) -> list[int] | list[Sequence[int]]:
        if isinstance(at, slice):
            rows: list[Sequence[int]] = [self[i] for i in range(*at.indices(len(self)))]
            return rows
        row: list[int] = self.flat[self.start[at] : self.start[at] + self.size[at]].tolist()
        return row

    def __iter__(self) -> Iterator[Sequence[int]]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Rows and their labels as tensors of one device, where batches are put together."""

    flat: Int[Tensor, " all"]
    start: Int[Tensor, " row"]
    size: Int[Tensor, " row"]
    labels: Int[Tensor, " row"]
    pad: int

    @classmethod
    def of(cls, rows: Ragged, labels: Sequence[int], pad: int, device: torch.device) -> Placed:
        flat = np.append(rows.flat, pad).astype(np.int32)  # one number more, so that no row is out of reach
        start, size = torch.from_numpy(rows.start), torch.from_numpy(rows.size)
        return cls(
            torch.from_numpy(flat).to(device),
            start.to(device),
            size.to(device),
            torch.as_tensor(labels, dtype=torch.int64).to(device),
            pad,
        )

    def gather(
        self, rows: Int[Tensor, " batch"], width: int
    ) -> tuple[Int[Tensor, "batch width"], Int[Tensor, " batch"], Int[Tensor, " batch"]]:
        """Return rows side by side and padded, their lengths, and their labels, without waiting for the device."""
        size = self.size[rows]
        column = torch.arange(width, device=rows.device)
        inside = column < size[:, None]
        place = torch.where(inside, self.start[rows][:, None] + column, len(self.flat) - 1)
        return torch.where(inside, self.flat[place].long(), self.pad), size, self.labels[rows]
