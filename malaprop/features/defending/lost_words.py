"""Votes over copies of a text that lack words, drawn at random.

RanMASK (Zeng et al. 2021) masks all but a few words. RanDel (Huang et al. 2023 and 2024, RS-Del and CERT-ED) deletes
words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from malaprop.attacks.constraints.edits import levenshtein
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields
from malaprop.features.defending.smooth import CopiesVote, NoisyTraining, Vote, cut_text
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDrops:
    """The noise of RanDel: each word of a copy is deleted with the chance q, independently of the others.

    Let z be what two texts x and y have in common when r words were replaced, added or deleted: x is z and a more
    words, y is z and b more, and neither a nor b is above r. A copy of x is one of z with the chance q**a, when all a
    are deleted. So a label's chances are P(x) <= q**a P(z) + 1 - q**a and P(y) >= q**b P(z), hence

        P(y) >= q**(b-a) (P(x) - 1 + q**a) = q**b - q**(b-a) (1 - P(x)).

    With s words replaced, i added and d deleted, a = s + d, b = s + i and r = s + i + d. For given d the right side is
    least at i = 0 and a = b + d = r, where it is (P(x) - 1 + q**r) / q**d. So P(x) - (1 - q**r) > 1/2 makes P(y) > 1/2
    for every kind of r edits: the largest shift is 1 - q**r, reached by replacing.

    Of several labels one stays ahead of another when it leads by 2 (1 - q**r). The lead that is needed is
    q**(a-b) + 1 - 2 q**a, because the other's chance is 1 less that of all but it; this is largest at a = b = r if q**r
    is above 1/2.

    Copies hold words alone, no punctuation and one space between words, so changes there are none; a copy without words
    is the unknown word.
    """

    delete: float = 0.9

    def __post_init__(self) -> None:
        if isinstance(self.delete, bool) or not 0 < self.delete < 1:
            raise SettingError(f"randel deletes a word with a chance above 0 and below 1, got {self.delete}")

    @property
    def about(self) -> str:
        return "any d words replaced, added or deleted, and any change of punctuation"

    def draw(self, text: Text, many: int, unknown: str, rng: np.random.Generator) -> list[Variants]:
        words, fields = np.asarray(text.strings, object), _slots_by_field(text)
        kept = rng.random((many, text.slots)) >= self.delete
        copies = [tuple(" ".join(words[own[row[own]]]) or unknown for own in fields) for row in kept]
        made = {copy: Variants.itself(cut_text(copy, text.table)) for copy in set(copies)}
        return [made[copy] for copy in copies]

    def every(self, text: Text, most: int, unknown: str) -> Variants | None:  # noqa: ARG002
        """Return None: copies have different probabilities, so asking each once gives no exact chances."""
        return None

    def shift(self, text: Text, words: int) -> float:  # noqa: ARG002
        return 1 - self.delete**words

    def limit(self, text: Text) -> int | None:  # noqa: ARG002
        return None

    def distance(self, origin: Text, changed: Text) -> int | None:
        before, after = ([[t.strings[s] for s in own] for own in _slots_by_field(t)] for t in (origin, changed))
        return sum(map(levenshtein, before, after))

    def change(self, text: Text, words: int, fresh: Sequence[str], rng: np.random.Generator) -> Fields:
        """Return the text after random replacements, deletions and additions of words, each as likely."""
        now = list(text.strings)
        for kind, share, number in zip(
            rng.integers(3, size=words), rng.random(words), rng.integers(len(fresh), size=words), strict=True
        ):
            at, new = int(share * len(now)), [fresh[int(number)]]
            now[at : at + (kind < 2)] = new if kind != 1 else []
        return (" ".join(now),)


def _slots_by_field(text: Text) -> list[Ints]:
    field = text.field_of_slots()
    return [np.flatnonzero(field == number) for number in range(len(text.names))]


@dataclass(frozen=True, slots=True, kw_only=True)
class RanDel(CopiesVote):
    """The vote of copies with words deleted. Train the victim inside with the same noise: malaprop harden randel."""

    kind: ClassVar[str] = "randel"
    delete: float = 0.9
    samples: int = 64
    vote: Vote = "majority"

    @property
    def noise(self) -> WordDrops:
        return WordDrops(delete=self.delete)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionTraining:
    """Training on texts with words deleted, drawn afresh for every batch."""

    delete: float = 0.9

    def __post_init__(self) -> None:
        WordDrops(delete=self.delete)

    def __str__(self) -> str:
        return f"trained on texts of which each word is deleted with a chance of {self.delete:.0%} (RanDel)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        return NoisyTraining(job=job, data=data, noise=WordDrops(delete=self.delete)).hooks
