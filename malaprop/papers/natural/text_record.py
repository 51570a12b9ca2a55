"""The record of natural adversaries of text: a line a sentence, figures of runs, and the section of the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from malaprop.core.codec import Real, decode, encode
from malaprop.core.files import read_lines
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import Alteration, AlterationReader, LineKind
from malaprop.frame.records.summary import Rate, Spread
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, brief, bullets, card, number, table
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


def _read_sentences(folder: Path, run: Run) -> dict[str, list[Alteration]]:
    """Return the changes of the originals, for rooms that show changes of every kind."""
    found = [
        Alteration(
            id=turn.id,
            label=turn.label,
            original=turn.fields,
            changed={**turn.fields, turn.field: turn.adversary} if turn.status == "success" else None,
        )
        for turn in read_turns(folder)
        if turn.status in ("success", "failed")
    ]
    return {run.recipe: found}


SENTENCES = AlterationReader(LINES, "sentences", _read_sentences)
TURNS = LineKind(file=LINES, what="sentences", read=partial(decode, SentenceResult), write=SentenceResult.to_json)


TITLE = "Natural adversaries of text"
_TURNS, _SAMPLES = 10, 10


def sentences(found: Sequence[NaturalTextRecord]) -> Markup:
    """Return a card for each record."""
    return join(*(_card(record, number) for number, record in enumerate(found)))


def _card(record: NaturalTextRecord, number: int) -> Markup:
    lead = (
        f"{record.data}: searches in the dense space of an {record.generator}, for {record.goal}. The distance is how "
        "far the adversary's point lies from the start of its search."
    )
    body: list[Child] = [tag("p", note) for note in record.notes]
    body += [_searches(record.tried), _comparison(record)]
    body += [_turns(victim, turns) for victim, turns in record.shown.items()]
    body += [_around(record.around), _quality(record), _curves(record)]
    body.append(bullets("Random samples", (sample or "(empty)" for sample in record.samples[:_SAMPLES])))
    return card(f"natural-text-{number}", TITLE, lead, *body)


def _three(value: float | None) -> str:
    return number(value, ",.3f")


def _searches(tried: Sequence[TextRunFigures]) -> Markup:
    rows = [
        (
            t.victim,
            t.search,
            str(t.accuracy) if t.accuracy.total else DASH,
            str(t.success),
            f"{_three(t.distance.mean)} / {_three(t.distance.median)}",
            f"{_three(t.kept.mean)} / {_three(t.kept.median)}",
            number(t.asked.median),
            str(t.started),
            _three(t.words.mean),
            _three(t.ratio),
        )
        for t in tried
    ]
    names = (
        *("Victim", "Search", "Accuracy", "Found", "Distance, mean / median", "Where the start had not got there"),
        *("Queries, median", "Got there at the start", "Words changed, mean", "Perplexity over originals'"),
    )
    note = (
        "Found is over the sentences attacked, with 95% intervals. The sentence model alone, which does not give back "
        "every sentence, may reach the goal at the start; the distances of the others stand apart. Perplexity is by an "
        "n-gram model of the sentence model's training sentences."
    )
    return table("What the searches found", names, rows, note)


def _comparison(record: NaturalTextRecord) -> Markup:
    rows = [(name, str(rate)) for name, rate in record.largest.items()]
    shares = table("Who needs the largest change", ("Victim", "Share, ties left out"), rows)
    pairs = [(f"{p.two} more than {p.one}", str(p.larger), f"{p.ties}", f"{p.p:.2g}") for p in record.pairs]
    return join(shares, table("Two by two", ("Needs", "Sentences", "Ties", "Sign test, p"), pairs))


def _turns(victim: str, turns: Sequence[SentenceResult]) -> Markup:
    rows = []
    for turn in turns[:_TURNS]:
        rest = "; ".join(f"{name}: {value}" for name, value in turn.fields.items() if name != turn.field)
        rows.append(
            (
                turn.original,
                turn.returned,
                turn.adversary,
                f"{turn.answer} → {turn.changed}",
                _three(turn.distance),
                rest,
            )
        )
    names = ("Original", "What came back", "Adversary", "Answer", "Distance", "Beside it")
    return table(f"Adversaries of {victim}", names, rows)


def _around(found: Sequence[SentenceAround]) -> Markup:
    rows = []
    for one in found:
        near = tag("ol", *(tag("li", f"{sentence} ({distance:.2f})") for distance, sentence in one.near))
        rows.append((one.original, one.returned, near))
    note = "The most frequent new sentence of each shell, with the shell's outer distance."
    return table("What lies around a sentence", ("Original", "What came back", "Nearby, nearest first"), rows, note)


_LABELS = {
    "shown": "Words right, the words before given",
    "written": "Words right, written freely",
    "through_z": "Words right, through the dense space",
    "whole": "Sentences that come back word for word",
    "bleu": "BLEU of what comes back",
    "bleu_through_z": "BLEU through the dense space",
    "unknown_share": "Unknown words",
    "perplexity_real": "Perplexity of sentences held out",
    "perplexity_back": "Perplexity of what comes back",
    "perplexity_samples": "Perplexity of random samples",
    "distinct": "Different samples",
    "distinct_pairs": "Different word pairs of samples",
    "distinct_pairs_real": "Different word pairs of sentences held out",
    "coverage": "Words held out that samples use",
}


def _quality(record: NaturalTextRecord) -> Markup:
    rows = [(label, f"{record.quality[name]:,.3f}") for name, label in _LABELS.items() if name in record.quality]
    many = record.quality.get("sentences", 0)
    note = f"On {many:,.0f} sentences that it never saw, of one n-gram yardstick throughout."
    return table("How good the sentence model is", ("Figure", "Value"), rows, note)


def _curves(record: NaturalTextRecord) -> Markup:
    """Return a few points of the learning curves as a table."""
    names = [name for name in dict.fromkeys(k for point in record.curves for k in point) if name != "step"]
    every = max(1, len(record.curves) // 10)
    rows = [
        (f"{point['step']:,.0f}", *(f"{point[name]:.3f}" if name in point else "" for name in names))
        for point in record.curves[::every]
    ]
    return table("How it learnt", ("Step", *(name.replace("_", " ") for name in names)), rows)


def terminal(record: NaturalTextRecord) -> str:
    """Return the text for the terminal: a line for each search, then for every two victims."""
    lines = [f"{tried.victim}, {tried.search}: {_line(tried)}" for tried in record.tried]
    lines += [f"{p.two} needs more than {p.one}: {p.larger}, sign test p {p.p:.2g}" for p in record.pairs]
    return "\n".join(lines)


def _line(tried: TextRunFigures) -> str:
    accuracy = f"accuracy {tried.accuracy}; " if tried.accuracy.total else ""
    ratio = "none" if tried.ratio is None else f"{tried.ratio:.2f} times that of the originals"
    return (
        f"{accuracy}found {tried.success}, distance mean {brief(tried.distance.mean)}, median "
        f"{brief(tried.distance.median)}, queries median {brief(tried.asked.median)}; goal reached by the sentence "
        f"model alone {tried.started}; words changed, mean {brief(tried.words.mean)}; perplexity {ratio}"
    )


SECTION = Section(rank=81, title=TITLE, body=sentences, terminal=terminal)
