"""Networks with one output for two labels: a logit, or the probability that a sigmoid makes of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.overrides import TorchFunctionMode

from malaprop.models.scorers.plain import Forward

_SHAPING = {  # what leaves the numbers as they are
    "squeeze", "unsqueeze", "view", "reshape", "flatten", "contiguous", "float", "to", "clone", "__getitem__",
}  # fmt: skip
_EDGE = 1e-7  # of probabilities that are rounded to 0 or 1


class _Watch(TorchFunctionMode):
    """Keeps what sigmoids give, also in another shape."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        called = getattr(func, "__name__", "")
        passed = called in _SHAPING and any(args[0] is one for one in self.given if args)
        if isinstance(result, Tensor) and ("sigmoid" in called or passed):
            self.given.append(result)
        return result


def ends_in_sigmoid(run: Callable[[], Any]) -> bool:
    """Whether what a call gives comes straight from a sigmoid."""
    with _Watch() as watch:
        answer = run()
    return any(answer is one for one in watch.given)


def two_labels(forward: Forward, *, probability: bool) -> Forward:
    """Logits of two labels from a forward pass that gives one number a text, for the second of them."""

    def both(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch 2"]:
        one = forward(ids, lengths).reshape(-1, 1)
        logit = torch.logit(one.float(), eps=_EDGE) if probability else one
        return torch.cat([torch.zeros_like(logit), logit], 1)

    return both
