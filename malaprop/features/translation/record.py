"""The record of attacks on translation: success and BLEU of each run, and attention of a few successes."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

FILE = "translation.json"


@dataclass(frozen=True, slots=True)
class Bleu:
    """Corpus BLEU with its 95% bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f}-{self.high:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationRun:
    """The figures of one run: `before` and `after` are BLEU of the attacked sentences, `drop` the paired difference."""

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
    """The attention of a translation: a row an output word, a column a source word."""

    source: tuple[str, ...]
    output: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if [len(row) for row in self.weights] != [len(self.source)] * len(self.output):
            raise ValueError("the attention map's weights do not have a row an output word and a column a source word")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationExample:
    """The attention of one success before and after; `changed` are the places of the source words that differ."""

    attack: str
    victim: str
    before: TranslationMap
    after: TranslationMap
    changed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TranslationExamples:
    """The attention of a few successes of one run, stored beside the run until the record is computed."""

    found: tuple[TranslationExample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationRecord(Record):
    """All translation runs below a folder, and the attention of a few of their successes."""

    runs: tuple[TranslationRun, ...]
    sights: tuple[TranslationExample, ...] = ()
