"""Derivatives of a loss by the words and tokens of a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@contextmanager
def differentiable(model: nn.Module) -> Iterator[None]:
    """Put the model in evaluation mode, but for recurrent layers: cuDNN differentiates those in training mode alone.

    They hold no dropout of their own in any network of the zoo. Modes are as before afterwards.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        for module, _ in modes:
            if isinstance(module, nn.RNNBase):
                module.training = True
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def log_odds(
    logits: Float[Tensor, "batch label"],
    labels: Int[Tensor, " batch"],
    beside: Int[Tensor, " batch"] | int | None = None,
) -> Float[Tensor, " batch"]:
    """Return log((1 - p) / p): how far a label is behind all others; p includes the label `beside` it, where given.

    The log loss is softplus of it, so their gradients point the same way. This one does not vanish where p nears 1,
    where 32 bits would leave nothing but rounding of the other.
    """
    right = nn.functional.one_hot(labels, logits.shape[1]).bool()
    if beside is None:
        own = logits.gather(1, labels[:, None])[:, 0]
    else:
        right |= nn.functional.one_hot(
            torch.as_tensor(beside, device=labels.device).expand_as(labels), logits.shape[1]
        ).bool()
        own = logits.masked_fill(~right, -torch.inf).logsumexp(1)
    return logits.masked_fill(right, -torch.inf).logsumexp(1) - own


def below_mean(logits: Float[Tensor, "batch label"], labels: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """Return twice how far a label's logit is below the mean of all; of two labels, its distance to the other."""
    return 2 * (logits.mean(1) - logits.gather(1, labels[:, None])[:, 0])
