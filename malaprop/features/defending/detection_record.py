"""The record of a detector on finished attack runs, and how the report and the terminal show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.frame.report import tables
from malaprop.frame.report.markup import Markup
from malaprop.frame.report.section import Section

FILE = "detection.json"
_NOTHING = Rate(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedRun:
    """One detector on one attack run, or on clean texts alone, where `auc` and `caught` are empty."""

    name: str
    recipe: str = ""
    goal: str = ""
    data: str
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    caught: Rate = _NOTHING  # adversarial texts above the score that the allowed share of originals exceeds
    rejected: Rate = _NOTHING  # adversarial texts that the detector rejects at its own threshold ...
    rejected_clean: Rate = _NOTHING  # ... and clean texts


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRecord(Record):
    """The record of `malaprop detect score`: one detector on several runs."""

    method: str
    victim: str
    fitted_on: str
    attack: str = ""  # the attack whose adversarial texts it learnt from
    false_positives: float
    least_accuracy: float | None = None  # where given, it fixed the threshold, and false_positives was measured
    runs: tuple[DetectedRun, ...]


TITLE = "Detection"
NAMES = ("Texts", "Attack", "Goal", "AUC", "Caught", "Rejected at its threshold", "Clean texts rejected")


def detectors(found: Sequence[DetectionRecord]) -> Markup:
    """Return a card with one table for each detector."""
    if not found:
        return Markup("")
    lead = (
        "AUC is the chance that an adversarial text is more suspicious than a clean one; 0.5 is a guess. Caught are "
        "adversarial texts above the score that the allowed share of these originals exceeds; rejected are those above "
        "the threshold that was fixed when the detector was fitted."
    )
    parts = [tables.table(_title(one), NAMES, list(map(cells, one.runs))) for one in found]
    return tables.card("detection", TITLE, lead, *parts)


def cells(run: DetectedRun) -> tuple[str, ...]:
    """Return the cells of a run, in the order of `NAMES`."""
    auc = "-" if run.auc is None else f"{run.auc:.3f} ({run.auc_low:.3f}-{run.auc_high:.3f})"
    rates = (str(rate) if rate.total else "-" for rate in (run.caught, run.rejected, run.rejected_clean))
    return run.name, run.recipe or "-", run.goal or "-", auc, *rates


def _title(one: DetectionRecord) -> str:
    learnt = f", learnt from {one.attack}" if one.attack else ""
    least = one.least_accuracy
    most = f", the most that leaves {100 * least:g}% of the held-out originals right" if least is not None else ""
    allowed = f"{100 * one.false_positives:g}% allowed{most}"
    return f"{one.method} on {one.victim}, fitted on {one.fitted_on}{learnt}; {allowed}"


def terminal(one: DetectionRecord) -> str:
    """Return the table of a detector for the terminal."""
    return tables.lines_of(_title(one), NAMES, list(map(cells, one.runs)))


SECTION = Section(rank=42, title=TITLE, body=detectors, terminal=terminal)
