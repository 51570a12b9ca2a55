"""Attention within each of several texts that lie end to end: one kernel on a GPU, text by text elsewhere."""

from __future__ import annotations

import inspect
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


def can_pack() -> bool:
    """Return whether this torch has attention over texts of any length; 2.10 brought it."""
    return find_spec("torch.nn.attention.varlen") is not None


class Edges(NamedTuple):
    """Where texts begin among tokens that lie end to end, with the end of the last; and the longest text."""

    at: Int[Tensor, " text_1"]
    longest: int


def attend(
    q: Float[Tensor, "query head each"],
    k: Float[Tensor, "token few each"],
    v: Float[Tensor, "token few each"],
    q_edges: Edges,
    k_edges: Edges,
    *,
    scale: float | None = None,
    window: tuple[int, int] = (-1, -1),
) -> Float[Tensor, "query head each"]:
    """Compute attention of each query within its own text; rows of filling get meaningless values.

    `window` is how many tokens before and behind itself a token sees, -1 for all; keys may have fewer heads, each
    for several of the queries'.
    """
    if not q.is_cuda or q.dtype == torch.float32:  # which the kernel does not know
        return _one_by_one(q, k, v, q_edges.at, k_edges.at, scale, window)
    from torch.nn.attention.varlen import varlen_attn

    known, more = _options(), dict[str, Any]()
    if scale is not None and ("scale" in known or scale != q.shape[2] ** -0.5):
        more["scale"] = scale
    if window != (-1, -1):
        more |= {"window_size": window} if "window_size" in known else _causal(window)
    if k.shape[1] != q.shape[1]:
        if "enable_gqa" in known:
            more["enable_gqa"] = True
        else:
            k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    call: Any = varlen_attn
    seen: Tensor = call(q, k, v, q_edges.at, k_edges.at, q_edges.longest, k_edges.longest, **more)
    return seen


def _causal(window: tuple[int, int]) -> dict[str, Any]:
    """Return the options of causal attention for torch 2.10, which has no windows; raise for any other window."""
    if window != (-1, 0):
        raise NotImplementedError("attention in a window wants torch 2.11")
    return {"is_causal": True}


@cache
def _options() -> frozenset[str]:
    from torch.nn.attention.varlen import varlen_attn

    return frozenset(inspect.signature(varlen_attn).parameters)


def _one_by_one(
    q: Float[Tensor, "query head each"],
    k: Float[Tensor, "token few each"],
    v: Float[Tensor, "token few each"],
    q_edges: Int[Tensor, " text_1"],
    k_edges: Int[Tensor, " text_1"],
    scale: float | None,
    window: tuple[int, int],
) -> Float[Tensor, "query head each"]:
    out = torch.zeros_like(q)
    ends = torch.stack([q_edges, k_edges]).tolist()
    for a, b, c, d in zip(ends[0], ends[0][1:], ends[1], ends[1][1:], strict=False):
        if d <= c:
            continue
        queries, keys, values = (t.transpose(0, 1)[None] for t in (q[a:b], k[c:d], v[c:d]))
        mask = None
        if window != (-1, -1):
            apart = torch.arange(b - a, device=q.device)[:, None] - torch.arange(d - c, device=q.device)[None]
            before, behind = (w if w >= 0 else d - c for w in window)
            mask = (apart <= before) & (-apart <= behind)
        seen = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, scale=scale, enable_gqa=k.shape[1] != q.shape[1]
        )
        out[a:b] = seen[0].transpose(0, 1)
    return out
