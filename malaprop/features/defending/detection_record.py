"""The record of a detector on finished attack runs: how well it tells adversarial texts from their originals."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

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
