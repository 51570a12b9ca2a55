"""Gaussian numbers that depend on their keys alone: the same in any batch, on any device, in any order."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

_STEP, _FIRST, _SECOND = (
    -0x61C8864680B583EB,
    -0x40A7B892E31B1A47,
    -0x6B2FB644ECCEEE15,
)  # splitmix64's, as signed numbers


def gaussian(keys: Int[Tensor, " key"], dim: int) -> Float[Tensor, "key dim"]:
    """Standard normal numbers, `dim` for each key, by Box and Muller's way from splitmix64."""
    half = (dim + 1) // 2
    bits = _mix(_mix(keys)[:, None] + torch.arange(1, half + 1, device=keys.device) * _STEP)
    one = (((bits >> 40) & 0xFFFFFF).float() + 0.5) / (1 << 24)
    two = ((bits >> 8) & 0xFFFFFF).float() / (1 << 24)
    length, turn = torch.sqrt(-2 * torch.log(one)), 2 * math.pi * two
    return torch.cat([length * torch.cos(turn), length * torch.sin(turn)], 1)[:, :dim]


def _mix(x: Int[Tensor, " *n"]) -> Int[Tensor, " *n"]:
    """The finish of splitmix64; shifts of signed numbers are masked to be those of unsigned ones."""
    x = (x ^ ((x >> 30) & ((1 << 34) - 1))) * _FIRST
    x = (x ^ ((x >> 27) & ((1 << 37) - 1))) * _SECOND
    return x ^ ((x >> 31) & ((1 << 33) - 1))
