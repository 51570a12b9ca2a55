"""What attacks ask of a victim that shows more than its scores, and what it answers.

Looks that cost forward passes alone: where the victim attends, how far and whereto edits move the vector that its
classifier reads, and what it says of a text with a zero vector in a word's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from malaprop.core.score import Floats
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants

Direction = Literal["received", "cls"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Focus:
    """How much attention each slot of a text gets, averaged over the heads of one layer; -1 is the last layer.

    `received`: from all tokens of the text, on average; `cls`: from the first token alone, which a BERT's classifier
    reads. The sub-words of a word are added up. The answer is [slot], nan where the victim does not read that far.
    """

    text: Text
    layer: int = 0
    direction: Direction = "received"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Apart:
    """How far each variant lies from a text: [variant], the L1 distance between the vectors the classifier reads."""

    origin: Text
    variants: Variants


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Toward:
    """How far each variant moves the vector that the classifier reads, from that of a text, toward the nearest border
    of a label: [variant], along the shortest way there as the classifier's slope gives it (DeepFool's step)."""

    origin: Text
    variants: Variants
    label: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Blank:
    """Scores [slot, label] of a text with zero vectors in the place of the tokens of one slot at a time."""

    text: Text
    slots: Ints


class Attention(Protocol):
    def focus(self, looks: Sequence[Focus]) -> list[Floats]: ...


class Embeddings(Protocol):
    def apart(self, looks: Sequence[Apart]) -> list[Floats]: ...

    def toward(self, looks: Sequence[Toward]) -> list[Floats]: ...


class Padding(Protocol):
    def blanked(self, looks: Sequence[Blank]) -> list[Floats]: ...
