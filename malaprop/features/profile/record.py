"""The record of `malaprop profile`: for each victim both curves, queries, transfer and the score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from malaprop.frame.records.intervals import Estimate, pool
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePoint:
    """The accuracy on noisy copies with this share of words changed, over all kinds of noise and of each kind."""

    share: float
    accuracy: Estimate
    kinds: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstPoint:
    """The accuracy under attacks that change at most this share of the words."""

    share: float
    accuracy: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesToBreak:
    """The queries up to the first success, over the texts that broke; None if none did."""

    broken: Rate  # among the texts that were attacked
    lower: float | None = None  # quartile
    median: float | None = None
    upper: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEntry:
    """One victim's profile, or the reason why it has none. `gap` is its score minus that of the victim below it.

    `transfer` has by source the share of the source's adversarial texts that this victim gets wrong, among those whose
    originals it gets right.
    """

    victim: str
    reason: str = ""
    score: Estimate | None = None
    noise_score: Estimate | None = None
    worst_score: Estimate | None = None
    gap: Estimate | None = None
    clean: Rate | None = None
    noise: tuple[NoisePoint, ...] = ()
    one_word: Rate | None = None
    worst: tuple[WorstPoint, ...] = ()
    queries: QueriesToBreak | None = None
    transfer: Mapping[str, Rate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def worst_at(self, share: float) -> Rate | None:
        return next((point.accuracy for point in self.worst if abs(point.share - share) < 1e-9), None)

    def noise_at(self, share: float) -> Estimate | None:
        return next((point.accuracy for point in self.noise if abs(point.share - share) < 1e-9), None)

    @property
    def transferred(self) -> Rate | None:
        """The transfer rate over all sources together."""
        if not self.transfer:
            return None
        return pool(list(self.transfer.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRecord(Record):
    """The victims by score, the best first.

    `words` is the mean length of a text. `changed` has by kind of noise the share of words that the copies change at
    each share: less than that where texts have few words that this kind can change.
    """

    data: str
    texts: int
    words: float
    seed: int
    draws: int
    attacks: tuple[str, ...]
    budget: int | None
    surrogate: str
    changed: Mapping[str, tuple[float, ...]]
    entries: tuple[ProfileEntry, ...]
    validity: str = "paper"  # how far the attacks had to keep the meaning
    notes: tuple[str, ...] = ()
