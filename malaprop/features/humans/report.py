"""The report section and terminal text of a human evaluation, from its humans.json alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from malaprop.features.humans.record import Accuracy, HumansRecord, PairwiseChoices, RaterAgreement, Ratings, SystemDuel
from malaprop.frame.report.figures import Bar, interval_bars
from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, card, lines_of, panel, panels, printable, share, table, text_of

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
