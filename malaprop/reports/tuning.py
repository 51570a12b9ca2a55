"""The part of the page that shows a search for a defence's settings, from its record alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.records.tuning import Judged, Try, Tuning
from malaprop.reports.markup import Child, Markup, join, tag

SHOWN = 10  # trials


def tunings(found: Sequence[Tuning]) -> Markup:
    """A card for each search; nothing where there is none."""
    return join(*(_card(record, number) for number, record in enumerate(found)))


def _card(record: Tuning, number: int) -> Markup:
    place = f"tuning-{number}"
    failed = sum(one.judged is None for one in record.trials)
    lead = (
        f"{record.defence} before {record.victim} on {record.data}: {len(record.trials)} trials ({record.sampler}), "
        "each judged by the mean of two accuracies on validation texts: as they are, and after "
        f"{record.recipe} against the plain victim. With 95% intervals."
    )
    body: list[Child] = [tag("h2", "Search for settings", id=place), tag("p", lead, class_="lead")]
    if failed:
        reasons = sorted({one.reason for one in record.trials if one.reason})
        body.append(tag("p", f"{failed} trials failed: {reasons[0]}"))
    body.append(_table("Validation", _validation(record)))
    if record.test is not None:
        best, plain = record.test.best, record.test.plain
        rows = [_row("plain", plain), _row(f"trial {record.test.number + 1}", best)]
        body.append(_table("Test, looked at once", rows))
    return tag("section", *body, class_="card study", aria_labelledby=place)


def _validation(record: Tuning) -> list[tuple[str, ...]]:
    judged = [one for one in record.trials if one.judged is not None]
    best = sorted(judged, key=lambda one: (-one.judged.value if one.judged else 0.0, one.number))
    return [_row("plain", record.plain), *(_trial(one) for one in best[:SHOWN])]


def _trial(one: Try) -> tuple[str, ...]:
    assert one.judged is not None
    settings = ", ".join(f"{name} {value}" for name, value in one.settings.items())
    return _row(f"trial {one.number + 1}: {settings}", one.judged)


def _row(name: str, one: Judged) -> tuple[str, ...]:
    return name, str(one.clean), str(one.adversarial)


def _table(title: str, rows: Sequence[tuple[str, ...]]) -> Markup:
    names = ("Defence", "Right on texts as they are", "Right on adversarial texts")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="plain")
    return join(
        tag("h3", title), tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Search: {title}")
    )
