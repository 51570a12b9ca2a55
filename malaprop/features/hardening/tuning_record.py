"""The record of a search for a defence's settings: trials, a measurement on the test part, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import card, table

FILE = "tuning.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedAccuracy:
    """Accuracy of a model on clean texts, and on adversarial ones generated against the plain victim."""

    clean: Rate
    adversarial: Rate

    @property
    def value(self) -> float:
        """The objective of the search: the mean of both accuracies; one without texts counts as 0."""
        shares = [rate.value if rate.total else 0.0 for rate in (self.clean, self.adversarial)]
        return sum(shares) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningTrial:
    """One trial; where it failed, `reason` says why and `judged` is None."""

    number: int
    settings: dict[str, Any]
    judged: TunedAccuracy | None
    seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningTest:
    """The accuracies of the plain victim and of the best trial on the test part, which was not used before."""

    plain: TunedAccuracy
    best: TunedAccuracy
    number: int  # of the trial


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningRecord(Record):
    defence: str
    victim: str
    data: str
    recipe: str  # of the adversarial texts
    sampler: str
    seed: int
    plain: TunedAccuracy  # on the validation part
    model: str = ""  # fact: what was trained in every trial, and how; other defences train nothing
    trials: tuple[TuningTrial, ...] = ()
    test: TuningTest | None = None

    @property
    def best(self) -> TuningTrial | None:
        return choose_best(self.trials)


def choose_best(trials: Iterable[TuningTrial]) -> TuningTrial | None:
    """Return the trial with the highest value, the first on a tie; None where none was judged."""
    judged = [one for one in trials if one.judged is not None]
    return max(judged, key=lambda one: (one.judged.value if one.judged else 0.0, -one.number), default=None)


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
