"""The scores for those who stay in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from malaprop.records.humans import Accuracy, Agreement, Contest, Duel, HumanScores, Ratings, Validity

if TYPE_CHECKING:
    from rich.console import Console

Row = Sequence[str]
Figures = tuple[str, Row, list[Row]]


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def p_value(p: float | None) -> str:
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def tables(scores: HumanScores) -> Iterator[Figures]:
    """Each table's title, columns and rows."""
    if scores.accuracy:
        names = ("texts", "right, of answers", "right, of texts", "drop", "median rater", "median drop")
        yield "Human accuracy", names, [_accuracy(a) for a in scores.accuracy]
    if scores.validity:
        title = "Attack success, less what changed the label for people"
        yield title, ("attack", "success", "label kept", "success that counts"), [_validity(v) for v in scores.validity]
    for name, title in (("readability", "Easier to read"), ("similarity", "Closer to the original")):
        contest: Contest | None = getattr(scores, name)
        if contest is not None:
            yield (
                title,
                ("texts", "chosen", f"relative {name}"),
                [(c.name, str(c.votes), f"{c.relative:.2f}") for c in contest.systems],
            )
            yield from _duels(title, contest.duels)
    for name, title in (("naturalness", "Looks natural"), ("meaning", "Keeps the meaning")):
        ratings: Ratings | None = getattr(scores, name)
        if ratings is not None:
            yield (
                title,
                ("texts", "rated 4 or 5", "mean"),
                [(r.name, str(r.high), f"{r.mean:.2f}") for r in ratings.systems],
            )
            yield from _duels(title, ratings.duels)
    yield "Agreement", ("question", "level", "alpha", "95%", "items", "answers"), [_agreed(a) for a in scores.agreement]


def _accuracy(a: Accuracy) -> Row:
    drop = "-" if a.drop is None else str(a.drop)
    return a.name, str(a.answers), str(a.majority), drop, percent(a.median), percent(a.median_drop)


def _validity(v: Validity) -> Row:
    return v.name, str(v.success), str(v.kept), "-" if v.adjusted is None else str(v.adjusted)


def _agreed(a: Agreement) -> Row:
    alpha = "not defined" if a.alpha is None else f"{a.alpha:.3f}"
    ends = "-" if a.low is None or a.high is None else f"{a.low:.2f} to {a.high:.2f}"
    return a.question, a.level, alpha, ends, str(a.items), str(a.answers)


def _duels(title: str, duels: Sequence[Duel]) -> Iterator[Figures]:
    if duels:
        rows: list[Row] = [(f"{d.a} : {d.b}", f"{d.ahead_a} : {d.ahead_b}", str(d.ties), p_value(d.p)) for d in duels]
        yield f"{title}, text by text", ("pair", "ahead in", "ties", "p, sign test"), rows


def headline(scores: HumanScores) -> str:
    """Whose answers these are."""
    kept = scores.answered - len(scores.left_out)
    left = f", {len(scores.left_out)} left out for failing the checks" if scores.left_out else ""
    return (
        f"{scores.counted:,} of {scores.expected:,} answers by {kept} raters count "
        f"({scores.answered} of {scores.invited} answered{left})"
    )


def print_scores(scores: HumanScores, console: Console | None = None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console as Made
    from rich.table import Table
    from rich.text import Text

    out = console or Made()
    out.print(Text(headline(scores)))
    for left in scores.left_out:
        out.print(Text(f"  left out: {left.rater}, {left.right} of {left.checks} checks right"))
    for title, columns, rows in tables(scores):
        table = Table(title=Text(title), box=SIMPLE_HEAD, title_justify="left")
        for place, name in enumerate(columns):
            table.add_column(name, justify="left" if place == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        out.print(table)
