"""What decoding and training want of a translation network."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from jaxtyping import Bool, Float, Int
from torch import Tensor


class SourceMemory(NamedTuple):
    """What a network made of its sources; `inside` is true where there is a piece."""

    states: Float[Tensor, "batch slot dim"]
    inside: Bool[Tensor, "batch slot"]

    def repeated(self, times: int) -> SourceMemory:
        """Each source so many times, side by side."""
        return SourceMemory(self.states.repeat_interleave(times, 0), self.inside.repeat_interleave(times, 0))

    def picked(self, rows: Int[Tensor, " row"]) -> SourceMemory:
        return SourceMemory(self.states[rows], self.inside[rows])


class TranslationNetwork(Protocol):
    """Encoder and decoder; what a row holds after its own length changes nothing."""

    def encode(
        self,
        ids: Int[Tensor, "batch slot"],
        lengths: Int[Tensor, " batch"],
        blank: Bool[Tensor, "batch slot"] | None = None,
    ) -> SourceMemory:
        """`lengths` lie on the CPU; where `blank`, a piece's vector is zero."""

    def decode(self, memory: SourceMemory, before: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step vocab"]:
        """Logits of each next piece, given the ones before it."""

    def start(self, memory: SourceMemory) -> Any:
        """The decoder's state before the first piece."""

    def step(self, state: Any, last: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocab"], Any]: ...

    def reorder(self, state: Any, rows: Int[Tensor, " batch"]) -> Any:
        """The state of those rows; a row only takes the place of another of the same source."""
