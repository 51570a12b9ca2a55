"""Requests to a victim that shows more than its scores, and costs forward passes alone.

They concern its attention, the distance and direction in which edits move the vector that its classifier reads, and its
scores of a text with a zero vector in the place of a word.
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
    """Request how much attention each slot of a text gets, averaged over the heads of one layer; -1 is the last layer.

    `received`: from all tokens of the text, on average; `cls`: from the first token alone, which a BERT's classifier
    reads. The sub-words of a word are added up. The answer is [slot], nan where the victim does not read that far.
    """

    text: Text
    layer: int = 0
    direction: Direction = "received"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Apart:
    """Request the distance of each variant from a text: [variant], L1 between the vectors that the classifier reads."""

    origin: Text
    variants: Variants


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Toward:
    """Request how far each variant moves a text toward the nearest decision boundary of a label: [variant].

    The distance is measured in the vector that the classifier reads, along DeepFool's step: the shortest way to the
    boundary by the classifier's gradient.
    """

    origin: Text
    variants: Variants
    label: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Blank:
    """Request the scores [slot, label] of a text with zero vectors in place of the tokens of one slot at a time."""

    text: Text
    slots: Ints


class Padding(Protocol):
    """The part of a victim that scores texts with zero vectors in them."""

    def blanked(self, looks: Sequence[Blank]) -> list[Floats]: ...
