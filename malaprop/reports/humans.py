"""What people said, as a part of the report; made from humans.json alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from malaprop.records.humans import Contest, Duel, HumanScores, Ratings
from malaprop.reports.figures import Bar, interval_bars
from malaprop.reports.markup import Child, Markup, join, tag

_NONE = "–"  # noqa: RUF001 - a dash for nothing


def people(found: Sequence[HumanScores]) -> Markup:
    """A card for each study; nothing where there is none."""
    return join(*(_card(scores, number) for number, scores in enumerate(found)))


def _card(scores: HumanScores, number: int) -> Markup:
    anchor = f"humans-{number}"
    panels = tag("div", *_panels(scores), class_="panels")
    parts = (_labels(scores), *_contests(scores), *_rated(scores), _agreement(scores))
    title = tag("h2", "What people said", id=anchor)
    return tag(
        "section",
        title,
        tag("p", _raters(scores), class_="lead"),
        panels,
        *parts,
        class_="card humans",
        aria_labelledby=anchor,
    )


def _raters(scores: HumanScores) -> str:
    kept = scores.answered - len(scores.left_out)
    left = ", ".join(f"{r.rater} ({r.right} of {r.checks} checks right)" for r in scores.left_out)
    out = f" Left out, for failing the attention checks: {left}." if left else " Nobody failed the attention checks."
    return (
        f"{scores.counted:,} of {scores.expected:,} answers, by {kept} of {scores.invited} people, count.{out} "
        "Intervals of shares of answers count texts, as several people's answers about one text are not independent."
    )


def _panels(scores: HumanScores) -> Iterable[Markup]:
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
    )
    for title, contest in contests:
        if contest is not None:
            yield _panel(title, [Bar(c.name, c.votes, colors.get(c.name)) for c in contest.systems])
    rated = (("Looks natural (4 or 5)", scores.naturalness), ("Keeps the meaning (4 or 5)", scores.meaning))
    for title, ratings in rated:
        if ratings is not None:
            yield _panel(title, [Bar(r.name, r.high, colors.get(r.name)) for r in ratings.systems])


def _panel(title: str, bars: Sequence[Bar]) -> Markup:
    return tag("figure", tag("figcaption", title), interval_bars(title, bars), class_="panel")


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Child]]) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in columns))
    body = (tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows)
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="plain")
    region = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=title)
    return join(tag("h3", title), region)


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:.1f}%"


def _labels(scores: HumanScores) -> Markup | None:
    if not scores.accuracy:
        return None
    columns = ("Texts", "Right, of answers", "Right, of texts", "Drop", "Median person", "Drop of the median")
    rows = [
        (a.name, str(a.answers), str(a.majority), str(a.drop or _NONE), _percent(a.median), _percent(a.median_drop))
        for a in scores.accuracy
    ]
    valid = [(v.name, str(v.success), str(v.kept), str(v.adjusted or _NONE)) for v in scores.validity]
    return join(
        _table("Human accuracy", columns, rows),
        _table("Success that counts", ("Attack", "Success", "Label kept", "Both"), valid) if valid else None,
    )


def _contests(scores: HumanScores) -> Iterable[Markup]:
    found: tuple[tuple[str, str, Contest | None], ...] = (
        ("Easier to read", "Relative readability", scores.readability),
        ("Closer to the original", "Relative closeness", scores.similarity),
    )
    for title, relative, contest in found:
        if contest is not None:
            rows = [(c.name, str(c.votes), f"{c.relative:.2f}") for c in contest.systems]
            yield _table(title, ("Texts", "Chosen", relative), rows)
            yield _duels(title, contest.duels)


def _rated(scores: HumanScores) -> Iterable[Markup]:
    found: tuple[tuple[str, Ratings | None], ...] = (
        ("Looks natural", scores.naturalness),
        ("Keeps the meaning", scores.meaning),
    )
    for title, ratings in found:
        if ratings is not None:
            rows = [(r.name, str(r.high), f"{r.mean:.2f}") for r in ratings.systems]
            yield _table(title, ("Texts", "Rated 4 or 5", "Mean of 1 to 5"), rows)
            yield _duels(title, ratings.duels)


def _duels(title: str, duels: Sequence[Duel]) -> Markup:
    if not duels:
        return Markup("")
    columns = ("Pair", "Ahead in so many texts", "Ties", "p, sign test")
    rows = [(f"{d.a} : {d.b}", f"{d.ahead_a} : {d.ahead_b}", d.ties, _p(d.p)) for d in duels]
    return _table(f"{title}, text by text", columns, rows)


def _p(p: float | None) -> str:
    return _NONE if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _agreement(scores: HumanScores) -> Markup:
    rows = [
        (
            a.question,
            a.level,
            "not defined" if a.alpha is None else f"{a.alpha:.3f}",
            _NONE if a.low is None or a.high is None else f"{a.low:.2f} to {a.high:.2f}",
            a.items,
            a.answers,
        )
        for a in scores.agreement
    ]
    columns = ("Question", "Level", "Krippendorff's alpha", "95%", "Items", "Answers")
    return _table("How far people agree", columns, rows)
