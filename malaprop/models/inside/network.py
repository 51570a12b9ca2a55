"""What a network of the zoo shows beside its logits; `ids` and `lengths` are those that its forward takes."""

from __future__ import annotations

from typing import Protocol

from jaxtyping import Float, Int
from torch import Tensor, nn

Ids = Int[Tensor, "batch token"]
Lengths = Int[Tensor, " batch"]
Vectors = Float[Tensor, "batch token dim"]
Weights = Float[Tensor, "layer batch head query token"]


class InsightNetwork(Protocol):
    """In evaluation mode `head(pooled(ids, lengths))` is what the forward gives."""

    embedding: nn.Module  # word ids to vectors
    head: nn.Module

    def __call__(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]: ...

    def from_vectors(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:
        """Logits with `vectors` in the place of `embedding(ids)`; every text has a token (see `rows.settled`)."""
        ...

    def pooled(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        """The vector that the classifier reads."""
        ...

    def states(self, ids: Ids, lengths: Lengths) -> tuple[Vectors, ...]:
        """A vector for each token: the word's own, then after each layer in turn; zeros beyond a text.

        Layers may differ in width, and the separator of a pair has zeros where a layer reads each side by itself.
        """
        ...

    @property
    def attends(self) -> bool:
        """Whether there is attention to show."""
        ...

    def attention(self, ids: Ids, lengths: Lengths) -> Weights:
        """Weights on tokens, which sum to 1 for each query within a text; 0 beyond it.

        Queries are the tokens themselves, or a single one that stands for the whole text.
        """
        ...
