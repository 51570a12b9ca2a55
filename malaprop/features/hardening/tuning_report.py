"""The part of the page that shows a search for a defence's settings, from its record alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.features.hardening.tuning_record import TunedAccuracy, TuningRecord, TuningTrial
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import card, table

TITLE = "Search for settings"
SHOWN = 10  # trials


def tunings(found: Sequence[TuningRecord]) -> Markup:
    """A card for each search; nothing where there is none."""
    return join(*(_card(record, number) for number, record in enumerate(found)))


def _card(record: TuningRecord, number: int) -> Markup:
    failed = sum(one.judged is None for one in record.trials)
    lead = (
        f"{record.defence} before {record.victim} on {record.data}: {len(record.trials)} trials ({record.sampler}), "
        "each judged by the mean of two accuracies on validation texts: as they are, and after "
        f"{record.recipe} against the plain victim. With 95% intervals."
    )
    names = ("Defence", "Right on texts as they are", "Right on adversarial texts")
    body: list[Child] = []
    if failed:
        reasons = sorted({one.reason for one in record.trials if one.reason})
        body.append(tag("p", f"{failed} trials failed: {reasons[0]}"))
    body.append(table("Validation", names, _validation(record)))
    if record.test is not None:
        rows = [_row("plain", record.test.plain), _row(f"trial {record.test.number + 1}", record.test.best)]
        body.append(table("Test, looked at once", names, rows))
    return card(f"tuning-{number}", TITLE, lead, *body)


def _validation(record: TuningRecord) -> list[tuple[str, ...]]:
    judged = [one for one in record.trials if one.judged is not None]
    best = sorted(judged, key=lambda one: (-one.judged.value if one.judged else 0.0, one.number))
    return [_row("plain", record.plain), *(_trial(one) for one in best[:SHOWN])]


def _trial(one: TuningTrial) -> tuple[str, ...]:
    assert one.judged is not None
    settings = ", ".join(f"{name} {value}" for name, value in one.settings.items())
    return _row(f"trial {one.number + 1}: {settings}", one.judged)


def _row(name: str, one: TunedAccuracy) -> tuple[str, ...]:
    return name, str(one.clean), str(one.adversarial)


def terminal(record: TuningRecord) -> str:
    """The plain victim and the best trial, on the validation and on the test part."""
    rows = [("plain, validation", record.plain)]
    best = record.best
    if best is not None and best.judged is not None:
        rows.append((f"best of {len(record.trials)}, validation", best.judged))
    if record.test is not None:
        rows += [("plain, test", record.test.plain), ("best, test", record.test.best)]
    lines = [f"{name}: clean {one.clean}, adversarial {one.adversarial}" for name, one in rows]
    if best is not None:
        head = record.defence.partition(":")[0]
        lines.append(f"best: {':'.join([head, *(f'{k}={v}' for k, v in best.settings.items())])}")
    return "\n".join(lines)


SECTION = Section(rank=42, title=TITLE, body=tunings, terminal=terminal)
