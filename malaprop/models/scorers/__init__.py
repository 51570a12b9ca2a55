"""Scorers: from spliced tokens to logits, by whole forward passes or by what an edit changes."""

from __future__ import annotations

from typing import Protocol

from jaxtyping import Float
from torch import Tensor

from malaprop.models.tokens.splice import Splice

__all__ = ["Scorer"]


class Scorer(Protocol):
    """Gives the logits that the model's plain forward gives for each variant alone, to 1e-5."""

    def logits(self, work: Splice) -> Float[Tensor, "variant label"]: ...
