"""Count the arithmetic of torch: multiply-adds of matrix products, and numbers added or multiplied one by one."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

_ONE_BY_ONE = ("add", "sub", "mul", "div", "addcmul", "rsub")  # also in place


class Count(TorchDispatchMode):
    """A context that counts the arithmetic inside it in `total`. A multiply-add counts one; so does a lone addition.

    It does not count maxima, look-ups and functions of single numbers (sigmoid, gelu): they are few beside the rest.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self:  # an operation composed of others is counted by them
            out = func.decompose(*args, **(kwargs or {}))
        if out is not NotImplemented:
            return out
        out = func(*args, **(kwargs or {}))
        self.total += _counted(func, args, kwargs or {}, out)
        return out


def _counted(func: Any, args: Any, kwargs: dict[str, Any], out: Any) -> int:
    name = func.overloadpacket.__name__
    name = name if name.startswith("_") else name.removesuffix("_")  # in place costs the same
    packet = getattr(torch.ops.aten, name, func.overloadpacket)
    if packet in flop_registry:
        flops: int = flop_registry[packet](*args, **kwargs, out_val=out)
        return flops // 2
    if name == "_scaled_dot_product_flash_attention_for_cpu":
        query, key = args[0], args[1]
        return 2 * int(query.numel()) * int(key.shape[-2])  # scores, then their sums of values
    if name in ("_embedding_bag", "_embedding_bag_forward_only"):
        return int(args[1].numel()) * int(args[0].shape[1])
    if name in _ONE_BY_ONE and isinstance(out, Tensor) and out.is_floating_point():
        return out.numel()
    if name in ("sum", "cumsum") and isinstance(args[0], Tensor) and args[0].is_floating_point():
        return prod(args[0].shape)
    return 0


def count(work: Callable[[], object]) -> int:
    """Return the number of operations of one call of `work`."""
    mode = Count()
    with mode:
        work()
    return mode.total
