"""The interface of a translation network, as decoding and training use it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from jaxtyping import Bool, Float, Int
from torch import Tensor


class SourceMemory(NamedTuple):
    """The encoder's states of a batch of sources; `inside` is true where there is a piece and no padding."""

    states: Float[Tensor, "batch slot dim"]
    inside: Bool[Tensor, "batch slot"]

    def repeated(self, times: int) -> SourceMemory:
        """Return each source `times` times, one after the other."""
        return SourceMemory(self.states.repeat_interleave(times, 0), self.inside.repeat_interleave(times, 0))

    def picked(self, rows: Int[Tensor, " row"]) -> SourceMemory:
        return SourceMemory(self.states[rows], self.inside[rows])


class TranslationNetwork(Protocol):
    """An encoder and a decoder; padding after a row's length does not change its result."""

    def encode(
        self,
        ids: Int[Tensor, "batch slot"],
        lengths: Int[Tensor, " batch"],
        blank: Bool[Tensor, "batch slot"] | None = None,
    ) -> SourceMemory:
        """Return the encoder's states; `lengths` lie on the CPU, and a piece's vector is zero where `blank` is true."""

    def decode(self, memory: SourceMemory, before: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step vocab"]:
        """Return the logits of each next piece, given the pieces before it."""

    def start(self, memory: SourceMemory) -> Any:
        """Return the decoder's state before the first piece."""

    def step(self, state: Any, last: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocab"], Any]: ...

    def reorder(self, state: Any, rows: Int[Tensor, " batch"]) -> Any:
        """Return the state of these rows; a row may only replace another row of the same source."""
