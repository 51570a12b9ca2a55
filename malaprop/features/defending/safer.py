"""SAFER (Ye et al. 2020): votes over copies in which every word is drawn from its synonyms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields
from malaprop.features.defending.noisy import NoisyTraining
from malaprop.features.defending.ranmask import same_gaps
from malaprop.features.defending.smooth import CopiesVote
from malaprop.features.defending.synonyms import KINDS, Kind, Sets, open_sets
from malaprop.features.defending.votes import Vote
from malaprop.training.splits import Splits
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Hooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """The noise of SAFER: every word is drawn uniformly from a set near it (`malaprop.features.defending.synonyms`).

    If R words give way to synonyms, copies of both texts are the same with a chance of at least the product of the R
    words' overlaps, taking the R smallest: by no more than one minus that can the chance of a label differ.
    """

    sets: Kind = "classes"
    floor: float = 0.8  # cosine from which on words count as synonyms
    most: int = 20  # words that copies of a word draw from

    def __post_init__(self) -> None:
        if self.sets not in KINDS:
            raise SettingError(f"safer's sets are 'classes' or 'nearest', got {self.sets!r}")
        if not -1 <= self.floor <= 1 or self.most < 2:
            raise SettingError(
                f"safer wants a floor from -1 to 1 and sets of at least 2 words, got {self.floor} and {self.most}"
            )

    @property
    def known(self) -> Sets:
        return open_sets(self.sets, self.floor, self.most)

    @property
    def about(self) -> str:
        if self.sets == "classes":
            return f"d words, each by one of its class of at most {self.most} words (cosine {self.floor:g})"
        return f"d words, each by one with a cosine of at least {self.floor:g} to it"

    def draw(self, text: Text, many: int, unknown: str, rng: np.random.Generator) -> list[Variants]:  # noqa: ARG002
        lists = [self._ids(text, slot) for slot in range(text.slots)]
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        slots = np.flatnonzero(sizes > 1)
        chosen = (rng.random((many, len(slots))) * sizes[slots]).astype(np.int64)
        flat = np.concatenate([lists[s] for s in slots.tolist()]) if len(slots) else np.empty(0, np.int64)
        first = np.cumsum(sizes[slots]) - sizes[slots]
        words = flat[first + chosen]
        rows, at = np.nonzero(words != text.words[slots])
        return [Variants(text, slots[at], words[rows, at], rows, many)]

    def every(self, text: Text, most: int, unknown: str) -> Variants | None:  # noqa: ARG002
        """Return None: all but the shortest texts have too many copies."""
        return None

    def _ids(self, text: Text, slot: int) -> Ints:
        """Return the ids of the words that may be drawn for a slot, cached with the table.

        It depends on the word in lower case and on whether it begins or is written in capitals, on nothing else: so two
        words that share a set and a case have the same copies.
        """
        word = int(text.words[slot])
        key = ("safer", self, word)
        found: Ints | None = text.table.notes.get(key)
        if found is None:
            string = text.table.strings[word]
            drawn = self.known.drawn(string.lower())
            made = [recase(other, string) for other in drawn] if len(drawn) > 1 else [string]
            found = text.table.notes[key] = text.table.ids(made)
        return found

    def shift(self, text: Text, words: int) -> float:
        if words > self.limit(text):
            return 1.0
        overlaps = sorted(self.known.overlap(word.lower()) for word in self._changeable(text))
        return 1 - float(np.prod(overlaps[:words]))

    def limit(self, text: Text) -> int:
        return len(self._changeable(text))

    def _changeable(self, text: Text) -> list[str]:
        return [word for word in text.strings if word.lower() in self.known.synonyms]

    def distance(self, origin: Text, changed: Text) -> int | None:
        if not same_gaps(origin, changed):
            return None
        known, slots = self.known.synonyms, changed.changed(origin).tolist()
        pairs = [(origin.strings[slot], changed.strings[slot]) for slot in slots]
        fine = all(now.lower() in known.get(was.lower(), ()) and _case(was) == _case(now) for was, now in pairs)
        return len(slots) if fine else None

    def change(self, text: Text, words: int, fresh: Sequence[str], rng: np.random.Generator) -> Fields:  # noqa: ARG002
        """Return the text with at most `words` words replaced by synonyms of theirs."""
        strings, known = text.strings, self.known.synonyms
        able = np.asarray([slot for slot, word in enumerate(strings) if word.lower() in known], np.int64)
        for slot in rng.permutation(able)[:words].tolist():
            others = sorted(known[strings[slot].lower()])
            text = text.put(slot, recase(others[int(rng.integers(len(others)))], strings[slot]))
        return text.values()


def _case(word: str) -> str:
    """Return a key of a word's case: equal keys are recased alike."""
    return recase("ab", word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Safer(CopiesVote):
    """The vote of copies with synonyms. Train the victim inside with the same noise: malaprop harden safer."""

    kind: ClassVar[str] = "safer"
    sets: Kind = "classes"
    floor: float = 0.8
    most: int = 20
    samples: int = 64
    vote: Vote = "majority"

    @property
    def noise(self) -> Swaps:
        return Swaps(sets=self.sets, floor=self.floor, most=self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappedTraining:
    """Training on texts whose words are drawn from their synonyms, afresh for every batch."""

    sets: Kind = "classes"
    floor: float = 0.8
    most: int = 20

    def __post_init__(self) -> None:
        Swaps(sets=self.sets, floor=self.floor, most=self.most)

    def __str__(self) -> str:
        return (
            f"trained on texts with words drawn from synonyms ({self.sets}, cosine {self.floor:g}, {self.most}; SAFER)"
        )

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        noise = Swaps(sets=self.sets, floor=self.floor, most=self.most)
        return NoisyTraining(job=job, data=data, noise=noise).hooks
