"""The record of `harden auto`: the methods tried on validation texts, their figures, and the method chosen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from malaprop.frame.records.intervals import Gain
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate

FILE = "autoharden.json"
NONE = "none"
FEW, SLACK = 3, 5.0  # methods that reach stage 2, and points by which they may exceed the loss in stage 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoTrial:
    """One trial of a method: stage 1 trains shortly and attacks few texts, stage 2 trains and attacks in full.

    `epochs` is 0 if nothing is trained. `late` means that time ran out; a call with a larger budget tries the method.
    """

    method: str
    stage: int
    epochs: int
    clean: Rate | None = None
    worst: Rate | None = None  # accuracy under every attack
    gain: Gain | None = None  # over the plain model, on the same texts
    seconds: float = 0.0
    reason: str = ""  # the reason if there are no figures
    late: bool = False
    began: float = 0.0  # in seconds since 1970

    @property
    def judged(self) -> bool:
        return self.clean is not None and self.worst is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoHardenRecord(Record):
    """The record of a whole search; its trials of the method "none" hold the figures of the plain model."""

    model: str
    data: str
    attacks: tuple[str, ...]
    texts: int  # validation texts of the second stage
    loss: float  # points of accuracy without attack that may be lost
    budget: float  # seconds
    trials: tuple[AutoTrial, ...]
    chosen: str
    why: str
    victim: str  # what --victim takes, or a folder below the record's
    is_folder: bool = False
    doubt: str = ""  # the reason to suspect that the model was trained on these texts
    plan: str = ""  # the methods that the budget was enough for

    @property
    def best(self) -> AutoTrial:
        return find_trial(self.trials, 2, self.chosen)

    @property
    def late(self) -> tuple[str, ...]:
        """The methods that the search had no time for."""
        done = {one.method for one in self.trials if one.stage == 2 and one.judged}
        return tuple(dict.fromkeys(one.method for one in self.trials if one.late and one.method not in done))

    @property
    def dear(self) -> tuple[str, ...]:
        """The methods that are more robust than the plain model but lose more clean accuracy than allowed."""
        plain = find_trial(self.trials, 2, NONE)
        others = (one for one in self.trials if one.stage == 2 and one.judged)
        return tuple(one.method for one in others if is_dear(one, plain, self.loss))


def read_choice(victim: str) -> str | None:
    """Return the victim that the search in this folder chose; None if `victim` is not the folder of a search."""
    folder = os.path.expanduser(victim)
    record = AutoHardenRecord.read(Path(folder)) if os.path.isfile(os.path.join(folder, FILE)) else None
    if record is None:
        return None
    return os.path.join(folder, record.victim) if record.is_folder else record.victim


def find_trial(trials: Iterable[AutoTrial], stage: int, method: str) -> AutoTrial:
    return next(one for one in trials if (one.stage, one.method) == (stage, method))


def keep_last(trials: Iterable[AutoTrial]) -> tuple[AutoTrial, ...]:
    """Return the last trial of each stage and method: one that lacked time before may have been tried since."""
    return tuple({(one.stage, one.method): one for one in trials}.values())


def choose_few(trials: Iterable[AutoTrial], plain: AutoTrial, loss: float) -> list[str]:
    """Return up to FEW methods for stage 2, best first; few texts say little, so SLACK is added to the loss."""
    least = _share(plain.clean) - (loss + SLACK) / 100
    judged = [one for one in trials if one.stage == 1 and one.judged]
    order = sorted(judged, key=lambda one: (_share(one.clean) < least, -_share(one.worst), -_share(one.clean)))
    return [one.method for one in order[:FEW]]


def choose_one(trials: Sequence[AutoTrial], loss: float) -> tuple[str, str]:
    """Return the most robust method within the loss, and why; the plain model where no method beats it."""
    plain = find_trial(trials, 2, NONE)
    others = [one for one in trials if one.stage == 2 and one.judged and one.method != NONE]
    fine = [one for one in others if not _loses(one, plain, loss)]
    best = max([plain, *fine], key=lambda one: (_share(one.worst), one.method == NONE, _share(one.clean)))
    short = sum(one.stage == 1 and one.judged for one in trials)
    tried = f"of {short} methods tried shortly and {len(others)} tried in full" if short else f"of {len(others)} tried"
    tried = tried if short or others else "there was no time to try any method"
    beside = f"the plain model leaves {plain.worst} and has {plain.clean} without attack"
    if best is plain:
        dear = [one.method for one in others if is_dear(one, plain, loss)]
        more = f"; {', '.join(dear)} would leave more and lose more than {loss:g} points" if dear else ""
        if not others:
            return NONE, f"{tried}: {beside}"
        return NONE, f"{tried}, none leaves more under the worst attack within {loss:g} points of loss: {beside}{more}"
    return best.method, (
        f"{tried}, {best.method} leaves most under the worst attack, {best.worst}, with {best.clean} without attack; "
        f"at most {loss:g} points may be lost, and {beside}"
    )


def is_dear(one: AutoTrial, plain: AutoTrial, loss: float) -> bool:
    """Whether a method is more robust than the plain model but loses more clean accuracy than allowed."""
    return _loses(one, plain, loss) and _share(one.worst) > _share(plain.worst)


def _loses(one: AutoTrial, plain: AutoTrial, loss: float) -> bool:
    return _share(one.clean) < _share(plain.clean) - loss / 100 - 1e-9


def _share(rate: Rate | None) -> float:
    return rate.value if rate is not None and rate.total else 0.0
