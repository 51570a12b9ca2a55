"""A transformers classifier as a network of the zoo: ids and lengths in, logits out."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from malaprop.models.scorers.plain import attended


class Attending(nn.Module):
    """`separator` is the token behind which the second segment begins; None: the model knows no segments."""

    def __init__(self, model: Any, separator: int | None = None) -> None:
        super().__init__()
        self.model = model
        self.separator = separator

    def forward(self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
        return attended(self.model, separator=self.separator)(ids, lengths)
