"""The section of a report that shows profiles: the ranking, both curves of all victims in one chart, and details."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.features.profile.record import ProfileEntry, ProfileRecord
from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.figures import HEIGHT, RIGHT, WIDTH, Axis, figure, frame, height_of, percent
from malaprop.frame.report.markup import Markup, join, tag
from malaprop.frame.report.run_entries import COLORS
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, bullets, card, lines_of, number, panel, share, show_rate, table

NAMES = ("Victim", "Score", "Clean", "Noise 10%", "Attack 1 word", "Attack 20%")  # what a terminal has room for
_COLUMNS = (
    *("Victim", "Score", "Ahead by", "Noise score", "Attack score", "Clean", "Noise 10%"),
    *("Attack 1 word", "Attack 5%", "Attack 10%", "Attack 20%", "Queries", "Transfer"),
)
TITLE = "Robustness profile"
_SCORE = (
    "Score: the area under accuracy against the share of changed words, 0 to 20%, as the mean of noise and attack. "
    "100: right on every text, whatever is changed. In brackets 95% bootstrap intervals over texts. Noise and attack "
    "score: the same area under one of the curves. Ahead by: this score minus the score of the victim in the next row, "
    "on the same texts. Attack 1 word, 5%, ...: accuracy under attacks that may change one word, or 5% of the words. "
    "Queries: the median number until a success. Transfer: the share of adversarial texts found on other models "
    "(below) that the victim gets wrong."
)
_CHART = (
    "Solid: attacks that change at most this share of the words. Dashed: everyday noise in this share of the words, "
    "the mean over kinds of noise. The numbers are the ranks of the table."
)
_QUERIES = ("Victim", "Broken", "Lower quartile", "Median", "Upper quartile", "Most")
_TRANSFER = "How many adversarial texts of each source a victim gets wrong, of those whose originals it gets right."
_RAW = "every changed label counts, whatever the text means"
_VALIDITY = {
    "paper": f"The attacks run as published, and {_RAW}; many adversarial texts change the meaning. "
    "Use --validity valid to exclude those.",
    "valid": "Constraints on words (guards) and a judge of meaning reject texts that change the meaning.",
    "strict": "Guards and a judge of meaning, both with strict bounds, reject texts that change the meaning.",
}
_LINE, _COLUMN, _BESIDE = 11, 17, 48  # height and width of a rank beside the chart, and the room for all of them
CHART = WIDTH + _BESIDE  # width of the chart


def body(records: Sequence[ProfileRecord]) -> Markup:
    return join(*(_card(record, place) for place, record in enumerate(records)))


def headline(records: Sequence[ProfileRecord]) -> Markup | None:
    """Return a sentence on the best victim; None if no victim has a score."""
    for record in records:
        scored = [one for one in record.entries if one.score is not None]
        if scored:
            first, last = scored[0], scored[-1]
            rest = f"; {last.victim} has the lowest, {_score(last)}" if len(scored) > 1 else ""
            return join(tag("strong", first.victim), f" has the highest robustness score, {_score(first)}{rest}.")
    return None


def draw(records: Sequence[ProfileRecord]) -> Markup | None:
    """Return the chart of the first record with a score, for the first page; None if there is none."""
    record = next((one for one in records if any(entry.score is not None for entry in one.entries)), None)
    if record is None:
        return None
    return panel("Accuracy against the share of changed words", chart(record.entries), _legend(record))


def _score(one: ProfileEntry) -> str:
    return _estimate(one.score) if one.score is not None else one.reason


def _card(record: ProfileRecord, place: int) -> Markup:
    lead = (
        f"{record.texts:,} texts of {record.data}; {', then '.join(record.attacks)} within 20% of the words, repeated "
        f"with fewer words until they fail. {_VALIDITY.get(record.validity, '')}"
    )
    rows = [_row(rank, one) for rank, one in enumerate(record.entries, start=1)]
    parts = [
        table("Ranking", _COLUMNS, rows, _SCORE),
        panel("Accuracy against the share of changed words", tag("p", _CHART), chart(record.entries), _legend(record)),
        table("Noise by kind", ("Victim", *record.changed), _kind_rows(record), _describe_kinds(record)),
        table("Queries to the first success", _QUERIES, _query_rows(record), "Over successes."),
        table("Transfer", ("Victim", *_sources(record)), _transfer_rows(record), _TRANSFER),
        bullets("Notes", [*record.notes, *(f"{one.victim}: {note}" for one in record.entries for note in one.notes)]),
    ]  # fmt: skip
    return card(f"profile-{place}", TITLE, lead, *parts)


def _row(rank: int, one: ProfileEntry) -> tuple[str, ...]:
    """Return a row of the ranking in the columns of _COLUMNS."""
    name = f"{rank}. {one.victim}"
    if one.score is None:
        return (name, one.reason, *[DASH] * 3, _share(one.clean), *[DASH] * 7)
    noise, queries = one.noise_at(0.1), one.queries
    return (
        name, _estimate(one.score), _estimate(one.gap, sign="+"), _plain(one.noise_score), _plain(one.worst_score),
        _share(one.clean), share(None if noise is None else noise.value),
        _share(one.one_word), *(_share(one.worst_at(most)) for most in (0.05, 0.1, 0.2)),
        number(None if queries is None else queries.median), _share(one.transferred),
    )  # fmt: skip


def _share(rate: Rate | None) -> str:
    return share(rate.value if rate is not None and rate.shown else None)


def _estimate(found: Estimate | None, sign: str = "") -> str:
    if found is None or found.value != found.value:
        return DASH
    return f"{found.value:{sign}.1f} ({found.low:{sign}.1f} to {found.high:{sign}.1f})"


def _plain(found: Estimate | None) -> str:
    return number(None if found is None or found.value != found.value else found.value, ".1f")


def _kind_rows(record: ProfileRecord) -> list[tuple[str, ...]]:
    rows = []
    for one in record.entries:
        if one.noise:
            kinds = one.noise[-1].kinds
            rows.append((one.victim, *(share(kinds.get(kind)) for kind in record.changed)))
    return rows


def _describe_kinds(record: ProfileRecord) -> str:
    changed = ", ".join(f"{kind} {share(shares[-1])}" for kind, shares in record.changed.items())
    return (
        "Accuracy on copies with up to 20% of the words changed. A kind of noise may not apply to every word; these "
        f"shares of the words really changed: {changed}."
    )


def _query_rows(record: ProfileRecord) -> list[tuple[str, ...]]:
    return [
        (one.victim, str(found.broken), *map(number, (found.lower, found.median, found.upper, found.most)))
        for one in record.entries
        if (found := one.queries) is not None
    ]


def _sources(record: ProfileRecord) -> list[str]:
    return list(dict.fromkeys(source for one in record.entries for source in one.transfer))


def _transfer_rows(record: ProfileRecord) -> list[tuple[str, ...]]:
    sources = _sources(record)
    return [
        (one.victim, *(show_rate(one.transfer.get(source)) for source in sources))
        for one in record.entries
        if one.transfer
    ]


def chart(entries: Sequence[ProfileEntry]) -> Markup:
    """Return the chart of both curves of all victims, with their ranks at the right."""
    axis = Axis(label="Share of words changed", low=0.0, high=0.2, show=percent, marks=(0, 0.05, 0.1, 0.15, 0.2))
    shapes, ends = list[Markup](), list[tuple[float, str, int]]()
    for rank, one in enumerate(entries, start=1):
        if one.score is None:
            continue
        color = (rank - 1) % COLORS
        noise = [(point.share, point.accuracy.value) for point in one.noise]
        worst = [(point.share, point.accuracy.value) for point in one.worst]
        path = "L".join(f"{axis.place(x):.1f} {height_of(y):.1f}" for x, y in noise)
        steps = "".join(f"H{axis.place(x):.1f}V{height_of(y):.1f}" for x, y in worst[1:])
        begin = f"M{axis.place(worst[0][0]):.1f} {height_of(worst[0][1]):.1f}"
        shapes += [
            _line(f"M{path}", color, f"{one.victim}, noise", "5 4"),
            _line(f"{begin}{steps}", color, f"{one.victim}, attack"),
        ]
        ends += [(height_of(noise[-1][1]), str(rank), color), (height_of(worst[-1][1]), str(rank), color)]
    about = "; ".join(_describe(one) for one in entries if one.score is not None)
    name = "Accuracy against the share of changed words"
    return figure("lines", name, about, (CHART, HEIGHT), frame(axis), *shapes, *_ranks(ends))


def _describe(one: ProfileEntry) -> str:
    return (
        f"{one.victim}: {percent(one.worst[0].accuracy.value)} unchanged, at 20% of the words "
        f"{percent(one.noise[-1].accuracy.value)} with noise and {percent(one.worst[-1].accuracy.value)} under attack"
    )


def _line(path: str, color: int, title: str, dash: str | None = None) -> Markup:
    style = f"stroke:var(--c{color});stroke-width:1.6"
    return tag("path", tag("title", title), d=path, class_="line", style=style, stroke_dasharray=dash)


def _ranks(ends: Sequence[tuple[float, str, int]]) -> list[Markup]:
    """Return the ranks at the ends of the lines, moved to further columns where they would cover one another."""
    placed: list[list[float]] = []
    out = []
    for y, rank, color in sorted(ends):
        column = next((n for n, ys in enumerate(placed) if y - ys[-1] >= _LINE), len(placed))
        placed[column : column + 1] = [[*(placed[column] if column < len(placed) else []), y]]
        x = WIDTH - RIGHT + 4 + _COLUMN * column
        out.append(tag("text", rank, x=x, y=f"{y:.1f}", dy="0.34em", style=f"fill:var(--c{color});font-size:{_LINE}px"))
    return out


def _legend(record: ProfileRecord) -> Markup:
    items = []
    for rank, one in enumerate(record.entries, start=1):
        if one.score is not None:
            mark = tag("path", d="M1 6H27", class_="line", style=f"stroke:var(--c{(rank - 1) % COLORS})")
            swatch = tag("svg", mark, viewBox="0 0 28 12", width=28, height=12, aria_hidden="true")
            items.append(tag("li", swatch, f"{rank}. {one.victim}"))
    return tag("ul", *items, class_="legend")


def terminal(record: ProfileRecord) -> str:
    """Return the ranking for a narrow screen: some of its columns, and the score with a short interval."""
    rows = []
    for rank, one in enumerate(record.entries, start=1):
        cells = dict(zip(_COLUMNS, _row(rank, one), strict=True))
        if one.score is not None:
            cells["Score"] = f"{one.score.value:.1f} ({one.score.low:.0f}-{one.score.high:.0f})"
        cells["Victim"] = cells["Victim"].replace(" ", "\N{NO-BREAK SPACE}")  # else a line ends behind the rank
        rows.append([cells[name] for name in NAMES])
    title = f"{record.data}, {record.texts:,} texts; Noise, Attack: accuracy under noise and attack"
    title += f" ({_RAW})" if record.validity == "paper" else ""
    return lines_of(title, NAMES, rows)


SECTION = Section(rank=14, title=TITLE, body=body, terminal=terminal, headline=headline, figure=draw)
