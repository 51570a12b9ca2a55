"""The record of natural adversaries of text: one line an attacked sentence, and what runs and comparisons add up to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from malaprop.records.documents import Document, read_lines
from malaprop.records.natural import Pair
from malaprop.records.store import LineKind
from malaprop.records.summary import Rate, Spread

FILE, LINES = "naturaltext.json", "naturaltext.jsonl"
_RECORD = Document(file=FILE, about="natural adversaries", again="run it again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
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

    @property
    def original(self) -> str:
        return self.fields[self.field]

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTried:
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
    perplexity_original: float
    perplexity_adversary: float
    forwarded: int = 0  # texts that reached the victim
    reasons: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def ratio(self) -> float | None:
        if not self.perplexity_original or not self.perplexity_adversary:
            return None
        return self.perplexity_adversary / self.perplexity_original

    @classmethod
    def of(cls, turns: Iterable[Turn], **known: Any) -> TextTried:
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
class Around:
    """What lies around a sentence: other sentences, each with the distance at which it was first met."""

    original: str
    returned: str
    near: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalText:
    """All that one command found; parts that it did not look at are empty."""

    data: str
    generator: str
    goal: str
    items: int
    notes: tuple[str, ...] = ()
    quality: dict[str, float] = field(default_factory=dict)
    curves: tuple[dict[str, float], ...] = ()
    samples: tuple[str, ...] = ()
    tried: tuple[TextTried, ...] = ()
    largest: dict[str, Rate] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    shown: dict[str, tuple[Turn, ...]] = field(default_factory=dict)
    around: tuple[Around, ...] = ()

    def write(self, folder: Path) -> Path:
        return _RECORD.write(folder, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> NaturalText | None:
        """None where the folder holds none."""
        return _RECORD.read(folder, _record)


def read_turns(folder: Path) -> list[Turn]:
    """The finished sentences of a run; a torn last line is left out."""
    return read_lines(folder / LINES, _turn)


def _turn(raw: Mapping[str, Any]) -> Turn:
    made = Turn(**{**raw, "unknown": tuple(map(str, raw["unknown"]))})
    if not isinstance(made.fields, dict) or made.field not in made.fields:
        raise ValueError("a turn names the field that changes")
    return made


TURNS = LineKind(file=LINES, what="sentences", read=_turn, write=Turn.to_json)


def _rate(raw: Mapping[str, Any]) -> Rate:
    return Rate(int(raw["hits"]), int(raw["total"]))


_RATES = ("accuracy", "success", "started", "whole", "larger")
_SPREADS = ("distance", "kept", "asked", "words")


def _values(raw: Mapping[str, Any]) -> dict[str, Any]:
    spread = {name: Spread(raw[name]["mean"], raw[name]["median"]) for name in _SPREADS if name in raw}
    return {**raw, **{name: _rate(raw[name]) for name in _RATES if name in raw}, **spread}


def _record(raw: dict[str, Any]) -> NaturalText:
    return NaturalText(
        data=str(raw["data"]),
        generator=str(raw["generator"]),
        goal=str(raw["goal"]),
        items=int(raw["items"]),
        notes=tuple(map(str, raw["notes"])),
        quality={str(k): float(v) for k, v in raw["quality"].items()},
        curves=tuple({str(k): float(v) for k, v in point.items()} for point in raw["curves"]),
        samples=tuple(map(str, raw["samples"])),
        tried=tuple(TextTried(**_values(t)) for t in raw["tried"]),
        largest={str(k): _rate(v) for k, v in raw["largest"].items()},
        pairs=tuple(Pair(**_values(p)) for p in raw["pairs"]),
        shown={str(k): tuple(map(_turn, v)) for k, v in raw["shown"].items()},
        around=tuple(
            Around(
                original=str(a["original"]),
                returned=str(a["returned"]),
                near=tuple((float(d), str(s)) for d, s in a["near"]),
            )
            for a in raw["around"]
        ),
    )
