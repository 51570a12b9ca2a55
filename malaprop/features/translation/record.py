"""The record of attacks on translation: success and BLEU of each run, as tables read it."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

FILE = "translation.json"


@dataclass(frozen=True, slots=True)
class Bleu:
    """Corpus BLEU with the middle 95% of redrawn corpora."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f}-{self.high:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationRun:
    """One run. `before` and `after` are of the sentences that were attacked, `drop` is their difference, paired."""

    attack: str
    kind: str  # keyword, bleu, typos or probe
    victim: str
    data: str
    success: Rate
    skipped: int
    errors: int
    before: Bleu | None = None
    after: Bleu | None = None
    drop: Bleu | None = None
    changed_words: float | None = None  # mean of successes
    asked: float | None = None  # mean of attacked sentences
    distance: float | None = None  # mean of successes


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationMap:
    """Where a translation looks: a row an output word, a column a source word."""

    source: tuple[str, ...]
    output: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if [len(row) for row in self.weights] != [len(self.source)] * len(self.output):
            raise ValueError("a map whose weights do not fit its words")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationSight:
    """Attention of one success, before and after; `changed` numbers the source words that differ."""

    attack: str
    victim: str
    before: TranslationMap
    after: TranslationMap
    changed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TranslationSights:
    """What a few successes of one run look at, kept beside it until the record is made."""

    found: tuple[TranslationSight, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationRecord(Record):
    """All runs below a folder, and what a few of their successes look at."""

    runs: tuple[TranslationRun, ...]
    sights: tuple[TranslationSight, ...] = ()
