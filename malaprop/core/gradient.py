"""Requests of white-box attacks to a differentiable victim, and its answers.

A request (`CharLook`, `WordLook` ...) costs one forward and one backward pass over a text. The forward pass gives the
victim's scores of the text; the backward pass gives first-order estimates of what edits would do to the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from malaprop.core.capability import Capability
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants

OPERATIONS = ("flip", "insert", "delete")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Aim:
    """The loss whose gradient is taken: that of `label`, to raise, or to lower for a target label (away=False).

    It is the log loss, or with `odds` log((1 - p) / p), whose slope does not fall to nothing where the victim is sure,
    or with `spread` twice what the mean of all logits is above the label's: with two labels that is `odds`, with more
    it is linear in the logits, so that the mean over several victims is that of their mean logits. `beside` is another
    label that counts as right where the log loss or the odds are taken, such as that of rejecting the text.
    """

    label: int
    beside: int | None = None
    away: bool = True
    odds: bool = False
    spread: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CharLook:
    """Request the character edits of these slots that gain most: the best `most` of them, or all of them (None)."""

    text: Text
    aim: Aim
    slots: Ints
    most: int | None = 64
    operations: tuple[str, ...] = OPERATIONS
    new_words: bool = True  # the edited word must not be in the victim's vocabulary


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CharSeen:
    """Character edits with their gains, in an order that does not depend on rounding.

    `word(e)` is the word in slot `slots[e]` after edit e, empty where that edit is not allowed.
    """

    answer: Floats  # [label]
    slots: Ints
    gains: Floats
    word: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.slots)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordLook:
    """Request the gain of each variant, one edit each; `known` excludes words outside the victim's vocabulary.

    With `signs` the slopes are compared by sign alone: the gain is minus the sum, over the numbers of the tokens'
    vectors, of how far the sign of the change is from that of the slope (Papernot et al. 2016).
    """

    variants: Variants
    aim: Aim
    known: bool = False
    signs: bool = False

    @property
    def text(self) -> Text:
        return self.variants.base


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordSeen:
    """The victim's scores of the text, and the estimated gain of each variant."""

    answer: Floats  # [label]
    gains: Floats  # [variant], -inf where it is excluded or the victim does not read that far


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SlotLook:
    """Request how strongly the loss depends on each slot of a text."""

    text: Text
    aim: Aim


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SlotSeen:
    """The victim's scores of the text, and the gradient's norm at each slot."""

    answer: Floats  # [label]
    weights: Floats  # [slot] L1 norm of the mean slope over a slot's tokens, -1 where the victim does not read it


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MixLook:
    """Request the loss of mixed inputs: each of these slots holds a weighted mean of the vectors of its `words`.

    `shares` [sample, word] are the weights of the words of all slots, concatenated; they sum to 1 within a slot of a
    sample. Words with another number of tokens than the slot's own word are excluded; the others share their weight.
    """

    text: Text
    aim: Aim
    slots: Ints
    words: Sequence[Ints]
    shares: Floats


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MixSeen:
    """The loss of the samples of a `MixLook`, and its gradient by their shares."""

    answer: Floats  # [label], the mean over the samples
    odds: Floats  # [sample] log((1 - p) / p) of the label, or of a target the other way round: above 0 it is reached
    slopes: Floats  # [sample, word] of `odds` by the shares
    barred: NDArray[np.bool_]  # [word] which cannot be mixed in


class Gradients(Protocol):
    """The part of a victim that answers requests for gradients; `offers` names CHARACTERS where it reads characters."""

    @property
    def offers(self) -> frozenset[Capability]: ...

    def chars(self, looks: Sequence[CharLook]) -> list[CharSeen]: ...

    def words(self, looks: Sequence[WordLook]) -> list[WordSeen]: ...

    def slots(self, looks: Sequence[SlotLook]) -> list[SlotSeen]: ...

    def mixes(self, looks: Sequence[MixLook]) -> list[MixSeen]: ...
