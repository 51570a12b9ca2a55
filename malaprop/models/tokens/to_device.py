"""Sending: scores on their way from a device to the host, without waiting for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from malaprop.models.tokens.batches import is_shared


@dataclass(frozen=True, slots=True, eq=False)
class PendingScores:
    """Scores on their way to the host; `ready` says when they are there."""

    scores: Float[Tensor, "wanted label"]
    ready: torch.cuda.Event | None = None

    def wait(self) -> Float[Tensor, "wanted label"]:
        """The scores, once they are there."""
        if self.ready is not None:
            self.ready.synchronize()
        return self.scores


def copy_to_host(scores: Float[Tensor, "wanted label"]) -> PendingScores:
    """Begins the way to the host."""
    if not scores.is_cuda:
        return PendingScores(scores=scores)
    host = torch.empty(scores.shape, pin_memory=True)
    host.copy_(scores, non_blocking=True)
    ready = torch.cuda.Event(blocking=is_shared())  # type: ignore[no-untyped-call]
    ready.record()
    return PendingScores(scores=host, ready=ready)
