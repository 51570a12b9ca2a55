"""What white-box attacks ask of a victim that can be differentiated, and what it answers.

A look is one forward and one backward pass over a text. The forward pass gives the victim's scores of the text; the
backward pass gives first-order estimates of what edits would do to the loss.
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
    """The loss: that of `label`, to be raised, or to be lowered where the label is a target (away=False).

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
    """Which character edits of these slots gain most: the best `most` of them, or all of them (None)."""

    text: Text
    aim: Aim
    slots: Ints
    most: int | None = 64
    operations: tuple[str, ...] = OPERATIONS
    new_words: bool = True  # the edited word must not be in the victim's vocabulary


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CharSeen:
    """Edits in an order that no rounding decides; `word(e)` is what slot `slots[e]` holds after edit e, or nothing
    where that edit turns out to be barred."""

    answer: Floats  # [label]
    slots: Ints
    gains: Floats
    word: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.slots)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordLook:
    """What each of these variants, one edit each, would do to the loss; `known` bars words that the victim lacks.

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
    answer: Floats  # [label]
    gains: Floats  # [variant], -inf where it is barred or the victim does not read that far


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SlotLook:
    """How strongly the loss leans on each slot of a text."""

    text: Text
    aim: Aim


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SlotSeen:
    answer: Floats  # [label]
    weights: Floats  # [slot] L1 norm of the mean slope over a slot's tokens, -1 where the victim does not read it


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MixLook:
    """The loss of texts between texts: in each of these slots a mixture of the vectors of its `words`.

    `shares` [sample, word] are those of the words of all slots in a row, and sum to 1 within a slot of a sample. Words
    of another number of tokens than the slot's own word cannot be mixed in; their shares go to the others.
    """

    text: Text
    aim: Aim
    slots: Ints
    words: Sequence[Ints]
    shares: Floats


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MixSeen:
    answer: Floats  # [label], the mean over the samples
    odds: Floats  # [sample] log((1 - p) / p) of the label, or of a target the other way round: above 0 it is reached
    slopes: Floats  # [sample, word] of `odds` by the shares
    barred: NDArray[np.bool_]  # [word] which cannot be mixed in


class Gradients(Protocol):
    """How a victim answers looks. One that does not read characters says so in what it `offers`."""

    @property
    def offers(self) -> frozenset[Capability]: ...

    def chars(self, looks: Sequence[CharLook]) -> list[CharSeen]: ...

    def words(self, looks: Sequence[WordLook]) -> list[WordSeen]: ...

    def slots(self, looks: Sequence[SlotLook]) -> list[SlotSeen]: ...

    def mixes(self, looks: Sequence[MixLook]) -> list[MixSeen]: ...
