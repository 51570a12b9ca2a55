"""Padded rows of tokens: masks, states and poolings that never read the padding."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

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
