"""What a latent search wants of a generative model: a way into a dense space, and a way out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from malaprop.core.score import Flags, Floats


class Manifold(Protocol):
    """Data as points of a dense space. Items are what the victim reads: an array of images, or a list of sentences."""

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Changes when what it generates may change."""

    def invert(self, items: Any) -> Floats:
        """A point [item, dim] for each item: where a search begins."""

    def generate(self, z: Floats) -> Any:
        """One item for each row; an item must not depend on its neighbours in the batch."""


# A victim seen from here: one answer an item, whatever an answer is (scores, a label, a translation).
Answering = Callable[[Any], "Sequence[Any] | Floats"]

# Whether items and the victim's answers to them are what is looked for: goal(items, answers) gives flags [item].
Goal = Callable[[Any, Any], Flags]
