"""RanMASK (Zeng et al. 2021): votes over copies in which all but a few words, drawn at random, are masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from malaprop.core.errors import SettingError
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields
from malaprop.features.defending.smooth import CopiesVote, NoisyTraining, Vote
from malaprop.training.splits import Splits
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Hooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """The noise of RanMASK: a share `keep` of the words stays, at least one, drawn uniformly; the rest is masked.

    Of two texts of h words that differ in d of them, a copy that keeps k words is the same for both unless a differing
    word is kept, which has the chance 1 - C(h-d, k) / C(h, k): by no more can the chance of a label differ. This is the
    bound of the paper with its factor beta at 1; the paper estimates beta from samples, which proves nothing. There are
    C(h, k) copies, all as likely: where that is few, all are asked, and the chances are known exactly.
    """

    keep: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.keep < 1:
            raise SettingError(f"ranmask keeps a share of the words above 0 and below 1, got {self.keep}")

    @property
    def about(self) -> str:
        return "any d words in the place of others, none added and none taken away"

    def kept(self, words: int) -> int:
        """Return how many of so many words a copy keeps."""
        return min(words, max(1, round(self.keep * words)))

    def draw(self, text: Text, many: int, unknown: str, rng: np.random.Generator) -> list[Variants]:
        masked = text.slots - self.kept(text.slots)
        return [_mask(text, np.argsort(rng.random((many, text.slots)), axis=1)[:, :masked], unknown)]

    def every(self, text: Text, most: int, unknown: str) -> Variants | None:
        words, masked = text.slots, text.slots - self.kept(text.slots)
        many = comb(words, masked)
        if many > most:
            return None
        return _mask(text, np.array(list(combinations(range(words), masked)), np.int64).reshape(many, masked), unknown)

    def shift(self, text: Text, words: int) -> float:
        return share_touched(text.slots, self.kept(text.slots), words)

    def limit(self, text: Text) -> int:
        return text.slots

    def distance(self, origin: Text, changed: Text) -> int | None:
        return len(changed.changed(origin)) if same_gaps(origin, changed) else None

    def change(self, text: Text, words: int, fresh: Sequence[str], rng: np.random.Generator) -> Fields:
        slots = rng.permutation(text.slots)[:words]
        new = text.table.ids([fresh[i] for i in rng.integers(len(fresh), size=len(slots)).tolist()])
        return Variants(text, slots, new, np.zeros(len(slots), np.int64), 1).pick(0).values()


def same_gaps(one: Text, other: Text) -> bool:
    """Return whether two texts of one table have equally many words, and the same strings between them."""
    return one.slots == other.slots and bool((one.parts[::2] == other.parts[::2]).all())


def _mask(text: Text, slots: Ints, unknown: str) -> Variants:
    """Return copies of a text, each with one row of `slots` masked [copy, slot]."""
    many, masked = slots.shape
    mask = np.full(slots.size, text.table.id(unknown), np.int64)
    return Variants(text, slots.reshape(-1), mask, np.repeat(np.arange(many), masked), many)


def share_touched(words: int, kept: int, changed: int) -> float:
    """Return the chance that at least one of `changed` words is among `kept` drawn from `words`."""
    if changed > words:
        return 1.0
    return 1 - comb(words - changed, kept) / comb(words, kept) if words else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RanMask(CopiesVote):
    """The vote of masked copies. Train the victim inside with the same noise: malaprop harden ranmask."""

    kind: ClassVar[str] = "ranmask"
    keep: float = 0.3
    samples: int = 64
    vote: Vote = "majority"

    @property
    def noise(self) -> Masks:
        return Masks(keep=self.keep)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedTraining:
    """Training on masked texts, drawn afresh for every batch."""

    keep: float = 0.3

    def __post_init__(self) -> None:
        Masks(keep=self.keep)

    def __str__(self) -> str:
        return f"trained on texts of which {self.keep:.0%} of the words, drawn at random, are left (RanMASK)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        return NoisyTraining(job=job, data=data, noise=Masks(keep=self.keep)).hooks
