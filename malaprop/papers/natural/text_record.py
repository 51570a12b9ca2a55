"""The record of natural adversaries of text: a line for each sentence, and the figures of runs and comparisons."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from malaprop.core.codec import Real, decode, encode
from malaprop.core.files import read_lines
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.store import LineKind
from malaprop.frame.records.summary import Rate, Spread
from malaprop.papers.natural.record import SearchPair, VictimPair

FILE, LINES = "naturaltext.json", "naturaltext.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceResult:
    """One attacked sentence. `returned` is what the start of the search writes, `distance` that of latent points.

    For a classifier the answers are label names, for a translator its translations. Where the start was not `kept`,
    what came back reached the goal already: the sentence model alone, without a search.
    """

    id: str
    status: str  # success, failed, skipped (nothing to look for) or error
    label: str
    answer: str  # to the original
    fields: dict[str, str]  # all of the example, as it came
    field: str  # which of them changes
    returned: str = ""
    start: str = ""  # the answer to what came back
    kept: bool = True
    rebuilt: int | None = None  # words that differ between the original and what came back
    adversary: str = ""
    changed: str = ""  # the answer to the adversary
    distance: float | None = None
    words: int | None = None  # that differ between original and adversary, by the least edits
    unknown: tuple[str, ...] = ()  # words that the sentence model does not know
    asked: int = 0
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.field not in self.fields:
            raise ValueError("a turn names the field that changes")

    @property
    def original(self) -> str:
        return self.fields[self.field]

    def to_json(self) -> str:
        return json.dumps(encode(self), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRunFigures:
    """A victim under one search. Perplexities are by an n-gram model of the sentence model's training sentences.

    `kept` are the distances of those whose start had not reached the goal: where it had, a success may be quite near.
    `ratio` is the perplexity of adversaries over that of their originals.
    """

    victim: str
    search: str
    settings: str
    accuracy: Rate
    success: Rate
    distance: Spread
    kept: Spread
    asked: Spread
    started: Rate  # where the sentence model alone reached the goal
    whole: Rate  # where it gave the very sentence back, case aside
    words: Spread
    perplexity_original: Real
    perplexity_adversary: Real
    forwarded: int = 0  # texts that reached the victim
    reasons: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def ratio(self) -> float | None:
        if not self.perplexity_original or not self.perplexity_adversary:
            return None
        return self.perplexity_adversary / self.perplexity_original

    @classmethod
    def of(cls, turns: Iterable[SentenceResult], **known: Any) -> TextRunFigures:
        tried = [turn for turn in turns if turn.status in ("success", "failed")]
        hits = [turn for turn in tried if turn.status == "success"]
        reasons: dict[str, int] = {}
        for turn in tried:
            if turn.reason:
                reasons[turn.reason] = reasons.get(turn.reason, 0) + 1
        kept = [turn.distance for turn in hits if turn.distance is not None and turn.kept]
        return cls(
            success=Rate(len(hits), len(tried)),
            distance=Spread.of(turn.distance for turn in hits if turn.distance is not None),
            kept=Spread.of(kept),
            asked=Spread.of(turn.asked for turn in tried),
            started=Rate(sum(not turn.kept for turn in tried), len(tried)),
            whole=Rate(sum(turn.rebuilt == 0 for turn in tried), len(tried)),
            words=Spread.of(turn.words for turn in hits if turn.words is not None),
            reasons=reasons,
            **known,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFigures:
    """The figures of one run, and some of its sentences to show."""

    tried: TextRunFigures
    shown: tuple[SentenceResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceAround:
    """The sentences around a sentence, each with the distance at which it was first found."""

    original: str
    returned: str
    near: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalTextRecord(Record):
    """The results of one command; parts that it does not have are empty."""

    data: str
    generator: str
    goal: str
    items: int
    notes: tuple[str, ...] = ()
    quality: dict[str, Real] = field(default_factory=dict)
    curves: tuple[dict[str, Real], ...] = ()
    samples: tuple[str, ...] = ()
    tried: tuple[TextRunFigures, ...] = ()
    largest: dict[str, Rate] = field(default_factory=dict)
    pairs: tuple[VictimPair, ...] = ()
    searches: tuple[SearchPair, ...] = ()
    shown: dict[str, tuple[SentenceResult, ...]] = field(default_factory=dict)
    around: tuple[SentenceAround, ...] = ()


def read_turns(folder: Path) -> list[SentenceResult]:
    """Read the finished sentences of a run; an incomplete last line is left out."""
    return read_lines(folder / LINES, TURNS.read)


TURNS = LineKind(file=LINES, what="sentences", read=partial(decode, SentenceResult), write=SentenceResult.to_json)
