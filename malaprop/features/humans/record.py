"""The record of a human evaluation, humans.json, with its report section and terminal text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.figures import Bar, interval_bars
from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, card, lines_of, panel, panels, printable, share, table, text_of

FILE = "humans.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanEstimate:
    """A figure with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}% ({100 * self.low:.1f} to {100 * self.high:.1f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """Krippendorff's alpha of one question, over items with two answers or more; null where nothing varies."""

    question: str
    level: str
    alpha: float | None
    low: float | None
    high: float | None
    items: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How often raters chose the true label of a system's texts; `drop` is the difference from the originals.

    `answers` is the share of answers, with an interval over texts; `majority` the share of texts by majority vote, ties
    as wrong; `median` the median of the raters' own accuracies.
    """

    name: str
    answers: Rate
    majority: Rate
    median: float | None
    drop: HumanEstimate | None
    median_drop: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDuel:
    """Two systems compared on the same texts: on how many each is ahead, and a sign test without the ties."""

    a: str
    b: str
    ahead_a: int
    ahead_b: int
    ties: int
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSystem:
    """How often raters chose a system's text of a pair, and that share relative to the most chosen system's."""

    name: str
    votes: Rate
    relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseChoices:
    """The pairs that raters compared, by chosen system."""

    systems: tuple[ChosenSystem, ...]
    duels: tuple[SystemDuel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedSystem:
    """The ratings from 1 to 5 of one system's texts: the share of 4 and 5, and the mean."""

    name: str
    high: Rate
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """The ratings by system."""

    systems: tuple[RatedSystem, ...]
    duels: tuple[SystemDuel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Attack success, the share of judged successes that keep their label by majority vote, and their product."""

    name: str
    success: Rate
    kept: Rate
    adjusted: HumanEstimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A rater who failed the attention checks and is excluded, with the number of checks answered correctly."""

    rater: str
    right: int
    checks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HumansRecord(Record):
    """All figures of a human evaluation; those of questions without answers are null or empty."""

    study: str
    created: str
    seed: int
    ask: tuple[str, ...]
    systems: tuple[str, ...]
    pass_mark: float
    invited: int
    answered: int
    left_out: tuple[LeftOut, ...]
    counted: int
    expected: int
    accuracy: tuple[Accuracy, ...]
    readability: PairwiseChoices | None
    similarity: PairwiseChoices | None
    naturalness: Ratings | None
    meaning: Ratings | None
    agreement: tuple[RaterAgreement, ...]
    validity: tuple[Validity, ...]
    more_natural: PairwiseChoices | None = None
    images: bool = False  # whether raters judged images instead of texts

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, rates with their intervals and numbers to six digits."""
        return {"kind": "human scores", "version": VERSION, **Record.to_dict(self), **_plain(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, Rate):
        return {**value.to_dict(), "units": value.units}
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return round(value, 6) if isinstance(value, float) else value


TITLE = "Human evaluation"
Figures = tuple[str, Sequence[str], Sequence[Sequence[str]]]


def body(found: Sequence[HumansRecord]) -> Markup:
    """Return a card for each study."""
    return join(*(_card(scores, number) for number, scores in enumerate(found)))


def _card(scores: HumansRecord, number: int) -> Markup:
    parts = (table(title, columns, rows) for title, columns, rows in tables(scores))
    return card(f"humans-{number}", TITLE, _raters(scores), panels(*_panels(scores)), *parts, kind="humans")


def _raters(scores: HumansRecord) -> str:
    kept, what = scores.answered - len(scores.left_out), "image" if scores.images else "text"
    left = ", ".join(f"{r.rater} ({r.right} of {r.checks} checks right)" for r in scores.left_out)
    out = f" Left out, for failing the attention checks: {left}." if left else " Nobody failed the attention checks."
    return (
        f"{scores.counted:,} of {scores.expected:,} answers count, by {kept} of {scores.invited} people.{out} "
        f"Intervals of shares of answers are computed over {what}s, as several people's answers about one {what} are "
        "not independent."
    )


def _panels(scores: HumansRecord) -> Iterable[Markup]:
    colors = {name: number for number, name in enumerate(scores.systems)}
    if scores.accuracy:
        yield _panel(
            "Human accuracy, of answers", [Bar(a.name, a.answers, colors.get(a.name)) for a in scores.accuracy]
        )
    if scores.validity:
        bars = []
        for v in scores.validity:
            color = colors.get(v.name)
            bars += [Bar(v.name, v.success, color), Bar(f"{v.name}: label kept, of those judged", v.kept, color)]
        yield _panel("Attack success, and how often people kept the label", bars)
    contests = (
        ("Chosen as easier to read", scores.readability),
        ("Chosen as closer to the original", scores.similarity),
        ("Chosen as more natural", scores.more_natural),
    )
    for title, contest in contests:
        if contest is not None:
            yield _panel(title, [Bar(c.name, c.votes, colors.get(c.name)) for c in contest.systems])
    rated = (("Looks natural (4 or 5)", scores.naturalness), ("Keeps the meaning (4 or 5)", scores.meaning))
    for title, ratings in rated:
        if ratings is not None:
            yield _panel(title, [Bar(r.name, r.high, colors.get(r.name)) for r in ratings.systems])


def _panel(title: str, bars: Sequence[Bar]) -> Markup:
    return panel(title, interval_bars(title, bars))


def tables(scores: HumansRecord) -> Iterator[Figures]:
    """Yield the title, columns and rows of each table."""
    columns: tuple[str, ...]
    what = "images" if scores.images else "texts"
    if scores.accuracy:
        columns = (
            what.capitalize(),
            "Right, of answers",
            f"Right, of {what}",
            "Drop",
            "Median person",
            "Drop of the median",
        )
        yield "Human accuracy", columns, [_accuracy(a) for a in scores.accuracy]
    if scores.validity:
        valid = [(v.name, str(v.success), str(v.kept), text_of(v.adjusted)) for v in scores.validity]
        yield "Success that counts", ("Attack", "Success", "Label kept", "Both"), valid
    contests: tuple[tuple[str, str, PairwiseChoices | None], ...] = (
        ("Easier to read", "Relative readability", scores.readability),
        ("Closer to the original", "Relative closeness", scores.similarity),
        ("More natural", "Relative naturalness", scores.more_natural),
    )
    for title, relative, contest in contests:
        if contest is not None:
            rows = [(c.name, str(c.votes), f"{c.relative:.2f}") for c in contest.systems]
            yield title, (what.capitalize(), "Chosen", relative), rows
            yield _duels(title, contest.duels, what)
    rated: tuple[tuple[str, Ratings | None], ...] = (
        ("Looks natural", scores.naturalness),
        ("Keeps the meaning", scores.meaning),
    )
    for title, ratings in rated:
        if ratings is not None:
            rows = [(r.name, str(r.high), f"{r.mean:.2f}") for r in ratings.systems]
            yield title, (what.capitalize(), "Rated 4 or 5", "Mean of 1 to 5"), rows
            yield _duels(title, ratings.duels, what)
    columns = ("Question", "Level", "Krippendorff's alpha", "95%", "Items", "Answers")
    yield "How far people agree", columns, [_agreement(a) for a in scores.agreement]


def _accuracy(a: Accuracy) -> tuple[str, ...]:
    return a.name, str(a.answers), str(a.majority), text_of(a.drop), share(a.median), share(a.median_drop)


def _duels(title: str, duels: Sequence[SystemDuel], what: str) -> Figures:
    columns = ("Pair", f"Ahead in so many {what}", "Ties", "p, sign test")
    rows = [(f"{d.a} : {d.b}", f"{d.ahead_a} : {d.ahead_b}", str(d.ties), _p(d.p)) for d in duels]
    return f"{title}, {what[:-1]} by {what[:-1]}", columns, rows


def _p(p: float | None) -> str:
    return DASH if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _agreement(a: RaterAgreement) -> tuple[str, ...]:
    alpha = "not defined" if a.alpha is None else f"{a.alpha:.3f}"
    ends = DASH if a.low is None or a.high is None else f"{a.low:.2f} to {a.high:.2f}"
    return a.question, a.level, alpha, ends, str(a.items), str(a.answers)


def terminal(scores: HumansRecord) -> str:
    """Return how many answers count and whose do not, then the tables."""
    kept = scores.answered - len(scores.left_out)
    left = f", {len(scores.left_out)} left out for failing the checks" if scores.left_out else ""
    lines = [
        f"{scores.counted:,} of {scores.expected:,} answers by {kept} raters count "
        f"({scores.answered} of {scores.invited} answered{left})"
    ]
    lines += [f"  left out: {printable(r.rater)}, {r.right} of {r.checks} checks right" for r in scores.left_out]
    lines += [lines_of(title, columns, rows) for title, columns, rows in tables(scores) if rows]
    return "\n".join(lines)


SECTION = Section(rank=30, title=TITLE, body=body, terminal=terminal)
