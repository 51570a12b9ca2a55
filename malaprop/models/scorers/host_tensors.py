"""Tensors that a model copies from the host within its forward pass, kept from one pass for the next."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
_MOVES = {_aten.to, _aten._to_copy, _aten.type_as}


class HostTensorMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Some models make tables of positions or single numbers on the host at every pass, and a recording (CUDA graph)
    cannot hold a copy from there. They follow from the shape of a batch alone, so those of an earlier pass of the same
    shape serve as well: within `with kept:` they are collected, and after `again()` given in the same order."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._kept: list[Tensor] = []
        self._next: int | None = None  # None: collects

    def again(self) -> HostTensorMode:
        self._next = 0
        return self

    def afresh(self) -> HostTensorMode:
        self._kept, self._next = [], None
        return self

    def check_all_given(self) -> None:
        if self._next != len(self._kept):
            raise RuntimeError(f"of {len(self._kept)} tables of the last pass this one took {self._next}")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if getattr(func, "overloadpacket", None) not in _MOVES or not _leaves_host(args, named):
            return func(*args, **named)
        if self._next is None:
            self._kept.append(func(*args, **named))
            return self._kept[-1]
        if self._next >= len(self._kept) or self._kept[self._next].shape != args[0].shape:
            raise RuntimeError("this pass brings something from the host that the last one did not")
        self._next += 1
        return self._kept[self._next - 1]


def _leaves_host(args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether a call moves a tensor of the host to a device."""
    if args[0].device.type != "cpu":
        return False
    given = [*args[1:], *named.values()]
    places = [x.device if isinstance(x, Tensor) else x for x in given if isinstance(x, (Tensor, torch.device))]
    return any(place.type != "cpu" for place in places)
