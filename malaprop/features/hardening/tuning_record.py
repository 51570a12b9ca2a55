"""The record of a search for a defence's settings: trials on validation texts, and one measurement on the test part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

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
